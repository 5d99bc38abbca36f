"""Reading the embedding files a command is given, and saying what they are."""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from sag_vicreg.cli.columns import column_names
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


def read_files(
    files: Sequence[Path | str],
    *,
    vector_columns: list[str] | None,
    id_column: list[str] | None,
    label_column: list[str] | None,
    text_column: list[str] | None = None,
) -> "list[Embeddings]":
    """Read files whose columns are what the options say, and folders of files as one set."""
    from sag_vicreg.artifacts import open_table, read_embeddings

    columns = column_names(
        len(files),
        vector_columns=vector_columns,
        id_column=id_column,
        label_column=label_column,
        text_column=text_column,
    )
    return [
        open_table(path, names=each).whole()
        if is_many_files(path)
        else read_embeddings(path, **asdict(each))
        for path, each in zip(files, columns, strict=True)
    ]


def join_files(
    sets: "Sequence[Embeddings]", files: Sequence[Path], *, how: str = "exact"
) -> "Joined":
    """Match the rows of files; warn where only some have ids, and say what was left out."""
    from sag_vicreg.artifacts import join

    joined = join(sets, [str(path) for path in files], how=how)
    without = [str(path) for path, each in zip(files, sets, strict=True) if each.ids is None]
    if 0 < len(without) < len(files):
        warnings.warn(
            f"{', '.join(without)} has no ids, so rows are matched by position; if the files list "
            "their items in different orders, the scores mean nothing",
            stacklevel=2,
        )
    note = joined.note([str(path) for path in files])
    if note is not None:
        warnings.warn(note, stacklevel=2)
    return joined


@contextmanager
def warnings_as_lines() -> Iterator[None]:
    """Print what the block warns of as one line each, once it is done."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield
    for warning in caught:
        typer.echo(f"warning: {visible(str(warning.message))}", err=True)


def short_names(files: Sequence[Path]) -> tuple[str, ...]:
    """Name files by what tells them apart."""
    from sag_vicreg.artifacts import Source, distinct_names

    return distinct_names([Source(path) for path in files])
