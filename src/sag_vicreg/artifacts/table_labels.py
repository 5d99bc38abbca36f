"""The labels of a table that is not held: as small numbers, and what they are called."""

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from sag_vicreg.artifacts.embedding_tables import EmbeddingTable
from sag_vicreg.artifacts.table_files import Piece
from sag_vicreg.passes import Passes

Codes = npt.NDArray[np.uint16]

MOST_LABELS = 1_000
"""A column of more values is hardly one of classes."""


def encode_labels(table: EmbeddingTable, passes: Passes) -> tuple[tuple[str, ...], Codes] | None:
    """Read all labels in one pass: their names, and for each row the place of its own among them.

    None where the table has no labels, or more than a thousand different ones.
    """
    if table.label_column is None:
        return None
    places: dict[Any, int] = {}
    codes = np.empty(table.rows, np.uint16)
    every = passes.map(partial(_distinct, table=table), table.pieces, bar=f"labels of {table.name}")
    for piece, (labels, places_here) in zip(table.pieces, every, strict=True):
        known = [places.setdefault(label, len(places)) for label in labels.tolist()]
        if len(places) > MOST_LABELS:
            return None
        codes[piece.start : piece.start + piece.rows] = np.array(known)[places_here]
    names = (f"class {each}" if isinstance(each, int) else str(each) for each in places)
    return tuple(names), codes


def _distinct(
    piece: Piece, *, table: EmbeddingTable
) -> tuple[npt.NDArray[Any], npt.NDArray[np.intp]]:
    return np.unique(np.concatenate(list(table.labels(piece))), return_inverse=True)
