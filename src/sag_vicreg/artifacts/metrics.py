"""``metrics.csv``: what a training logged, column by column."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sag_vicreg.door import Kind, read_csv
from sag_vicreg.errors import InputError

METRICS = Kind("the log of a training", "move it away", 1 << 27)


def read_metrics(path: Path | str) -> dict[str, NDArray[np.float64]]:
    """Read the columns of a log; NaN stands for an empty cell and for what is not finite.

    The last line of a run that is being written, or was killed, may be cut short: it is left out.
    """
    return read_csv(path, METRICS, _columns, growing=True)


def _columns(header: list[str], rows: list[list[str]]) -> dict[str, NDArray[np.float64]]:
    if len(set(header)) < len(header) or not all(header):
        raise InputError("the first line must name every column once: move the file away")
    if rows and len(rows[-1]) < len(header):
        rows = rows[:-1]
    values = np.empty((len(rows), len(header)))
    for place, row in enumerate(rows):
        if len(row) != len(header):
            raise InputError(
                f"row {place + 1} has {len(row)} cells and the header {len(header)}: "
                f"{METRICS.remedy}"
            )
        values[place] = [
            _number(cell, place + 1, column) for cell, column in zip(row, header, strict=True)
        ]
    values[~np.isfinite(values)] = np.nan
    return {name: values[:, column] for column, name in enumerate(header)}


def _number(cell: str, row: int, column: str) -> float:
    try:
        return float(cell or "nan")
    except ValueError:
        raise InputError(
            f"row {row}, column '{column}': '{cell[:40]}' is not a number: {METRICS.remedy}"
        ) from None
