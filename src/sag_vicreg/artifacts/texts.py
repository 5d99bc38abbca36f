"""What the rows of a file are, in words: texts that are shown to people and never computed with."""

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sag_vicreg.artifacts.arrow import value_type
from sag_vicreg.door import check_memory
from sag_vicreg.errors import InputError, visible

if TYPE_CHECKING:
    import pyarrow as pa

Texts = npt.NDArray[np.object_]
MOST_KEPT = 400
"""Characters of each text that are kept: enough to tell what it is about."""
_SPACED = 4
_MOST_READ = _SPACED * MOST_KEPT + 1


def text_column(table: "pa.Table", name: str) -> Texts:
    """Return the beginnings of a column's texts; rows without one have an empty text."""
    import pyarrow as pa
    import pyarrow.compute as pc

    found: list[str] = []
    for chunk in table[name].chunks:
        # Each text of a dictionary once: decoded, a small file could fill the memory.
        folded = pa.types.is_dictionary(chunk.type)
        try:
            texts = (chunk.dictionary if folded else chunk).cast(pa.large_string())
        except pa.ArrowException as error:
            raise InputError(
                f"--text-column: '{name}' is {value_type(chunk.type)}: expected text or numbers"
            ) from error
        texts = pc.utf8_slice_codeunits(texts, 0, _MOST_READ)
        check_memory(texts.nbytes)
        shown = [shorten(text or "", MOST_KEPT) for text in texts.to_pylist()]
        if folded:
            places = chunk.indices.to_pylist()
            shown = ["" if place is None else shown[place] for place in places]
        found += shown
    return np.array(found, dtype=np.object_)


def as_texts(array: npt.NDArray[Any]) -> Texts:
    """Return the beginnings of an array's texts."""
    if array.ndim != 1 or array.dtype.kind not in "USiufb":
        raise InputError(
            f"texts have dtype {array.dtype} and shape {array.shape}: expected one text per row"
        )
    decoded = np.char.decode(array, "utf-8") if array.dtype.kind == "S" else array
    return np.array([shorten(str(text), MOST_KEPT) for text in decoded.tolist()], np.object_)


def shorten(text: str, most: int) -> str:
    r"""Put a text on one line, write out what a terminal would obey, and cut it.

    Examples
    --------
    >>> shorten("two\nlines and \x1b more", 15)
    'two lines and…'
    """
    # Of a long text only so much is looked at as may be left once its spaces are single.
    looked_at = text[: _SPACED * most]
    line = visible(" ".join(looked_at.split()))
    if len(line) <= most and len(looked_at) == len(text):
        return line
    return line[: most - 1].rstrip() + "…"
