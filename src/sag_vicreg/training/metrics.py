"""metrics.csv and TensorBoard: one row per logged step, continued exactly after a resume."""

import csv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sag_vicreg.artifacts import Run, write_text
from sag_vicreg.errors import InputError, first_line


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
        from torch.utils.tensorboard import SummaryWriter

        with _writing(self._folder):
            self._board = SummaryWriter(str(self._folder), purge_step=start + 1)

    def write(self, step: int, epoch: int, values: dict[str, float]) -> None:
        """Write one row; ``step`` counts finished optimiser steps."""
        begun = self._columns is not None
        first = [name for name in values if name not in self._trailing]
        self._columns = self._columns or ["step", "epoch", *first, *self._trailing]
        cells = {name: f"{value:.7g}" for name, value in values.items()}
        with _writing(self.path), self.path.open("a", newline="", encoding="utf-8") as file:
            rows = csv.DictWriter(file, self._columns, extrasaction="ignore", lineterminator="\n")
            if not begun:
                rows.writeheader()
            rows.writerow({"step": step, "epoch": epoch, **cells})
        with _writing(self._folder):
            for name, value in values.items():
                self._board.add_scalar(name, value, step)

    def close(self) -> None:
        """Flush TensorBoard's file."""
        with _writing(self._folder):
            self._board.close()


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(
            f"cannot write {path} ({first_line(error)}): free some space, then resume"
        ) from error


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
