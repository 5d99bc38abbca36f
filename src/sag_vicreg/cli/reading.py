"""Reading the embedding files a command is given, and saying what they are."""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from sag_vicreg.cli.columns import Columns
from sag_vicreg.errors import visible

if TYPE_CHECKING:
    from sag_vicreg.artifacts import Embeddings, Joined


def is_many_files(where: Path | str) -> bool:
    """Whether ``where`` is a folder, a pattern or an address rather than a file."""
    from sag_vicreg.artifacts import is_dataset_folder

    path, text = Path(where), str(where)
    if path.is_dir():
        return not is_dataset_folder(path)
    return "://" in text or (bool(set(text) & set("*?[")) and not path.exists())


def read_files(files: Sequence[Path | str], columns: Columns) -> "list[Embeddings]":
    """Read files whose columns are what the options say, and folders of files as one set."""
    from sag_vicreg.artifacts import open_table, read_embeddings

    return [
        open_table(path, names=each).whole()
        if is_many_files(path)
        else read_embeddings(path, **asdict(each))
        for path, each in zip(files, columns.of_each(len(files)), strict=True)
    ]


def join_files(
    sets: "Sequence[Embeddings]", files: Sequence[Path | str], *, how: str = "exact"
) -> "Joined":
    """Match the rows of files; warn where only some have ids, and say what was left out."""
    from sag_vicreg.artifacts import join

    names = [str(Path(where)) for where in files]
    joined = join(sets, names, how=how)
    warn_of_positions(names, [each.ids is not None for each in sets])
    if (note := joined.note(names)) is not None:
        warnings.warn(note, stacklevel=2)
    return joined


def warn_of_positions(names: Sequence[str], have_ids: Sequence[bool]) -> None:
    """Warn where only some sets have ids."""
    without = [name for name, has_ids in zip(names, have_ids, strict=True) if not has_ids]
    if 0 < len(without) < len(names):
        warnings.warn(
            f"{', '.join(without)} has no ids, so rows are matched by position; if the sets list "
            "their items in different orders, the scores mean nothing",
            stacklevel=3,
        )


@contextmanager
def warnings_as_lines() -> Iterator[None]:
    """Print what the block warns of as one line each, once it is done."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield
    for warning in caught:
        typer.echo(f"warning: {visible(str(warning.message))}", err=True)


def short_names(files: Sequence[Path | str]) -> tuple[str, ...]:
    """Name files by what tells them apart."""
    from sag_vicreg.artifacts import Source, distinct_names

    return distinct_names([Source(Path(where)) for where in files])
