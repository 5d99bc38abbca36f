"""metrics.csv and TensorBoard: one row per logged step, continued exactly after a resume."""

import csv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from sag_vicreg.artifacts import Run, write_text
from sag_vicreg.errors import InputError

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter


class MetricsLog:
    """Append rows to the run's metrics.csv and to its TensorBoard folder.

    The first row decides the columns; a later row may leave some empty. Rows after ``start`` are
    those a killed run wrote beyond its last checkpoint: they are dropped and written again.
    """

    def __init__(self, run: Run, start: int, columns: tuple[str, ...]) -> None:
        self.path = run.metrics
        self._trailing = columns
        self._columns = _drop_rows_after(self.path, start) if self.path.exists() else None
        self._folder = run.folder / "tensorboard"
        with _writing(self._folder):
            self._board = _open_board(self._folder, start)

    def write(self, step: int, epoch: int, values: dict[str, float]) -> None:
        """Write one row; ``step`` counts finished optimiser steps."""
        if self._columns is None:
            first = [name for name in values if name not in self._trailing]
            self._columns = ["step", "epoch", *first, *self._trailing]
            self._append(self._columns)
        row = {"step": step, "epoch": epoch, **values}
        self._append([_cell(row.get(column)) for column in self._columns])
        with _writing(self._folder):
            for name, value in values.items():
                self._board.add_scalar(name, value, step)

    def close(self) -> None:
        """Flush TensorBoard's file."""
        with _writing(self._folder):
            self._board.close()

    def _append(self, cells: list[str]) -> None:
        with _writing(self.path), self.path.open("a", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerow(cells)


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(
            f"cannot write {path} ({error.strerror or error}): free some space, then resume"
        ) from error


def _cell(value: float | int | None) -> str:
    if value is None:
        return ""
    return str(value) if isinstance(value, int) else f"{value:.7g}"


def _open_board(folder: Path, start: int) -> "SummaryWriter":
    from torch.utils.tensorboard import SummaryWriter

    return SummaryWriter(str(folder), purge_step=start + 1)


def _drop_rows_after(path: Path, step: int) -> list[str] | None:
    with path.open(newline="", encoding="utf-8") as file:
        header, *rows = list(csv.reader(file)) or [[]]
    if not header:
        return None
    if header[:2] != ["step", "epoch"]:
        raise InputError(f"{path} was not written by a training run: move it away")
    # A row cut short by the kill is always the last, and always after the last checkpoint.
    whole = [row for row in rows if len(row) == len(header)]
    if not all(row[0].isdecimal() for row in whole):
        raise InputError(f"{path} has rows without a step: move it away")
    kept = [row for row in whole if int(row[0]) <= step]
    write_text(path, "".join(",".join(row) + "\n" for row in [header, *kept]))
    return header
