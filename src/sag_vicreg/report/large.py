"""Tables that are not held as the sources of a page: the same random items of each."""

from collections.abc import Sequence
from pathlib import Path

from sag_vicreg.artifacts import (
    ColumnNames,
    EmbeddingFile,
    EmbeddingTable,
    Source,
    distinct_names,
    open_table,
)
from sag_vicreg.artifacts.table_samples import sample_tables
from sag_vicreg.errors import InputError
from sag_vicreg.passes import Passes
from sag_vicreg.report.points import Points, points_of
from sag_vicreg.report.sources import Model, Sources


def open_tables(
    sources: Sequence[Path | str], columns: Sequence[ColumnNames]
) -> list[EmbeddingTable]:
    """Open one table or two; only headers are read."""
    if not 1 <= len(sources) <= 2:
        raise InputError(f"{len(sources)} tables: --clusters shows one, or compares two")
    said = columns or [ColumnNames()] * len(sources)
    return [open_table(each, names=names) for each, names in zip(sources, said, strict=True)]


def sample_points(
    tables: Sequence[EmbeddingTable], items: int, *, hierarchy: str | None, seed: int
) -> tuple[Sources, Points]:
    """Read the same random items of the tables, which stand for all of them on the page."""
    paths = [Path(table.name) for table in tables]
    models = tuple(
        Model(name, path, embeddings={path.stem: EmbeddingFile(path, None)})
        for name, path in zip(distinct_names([Source(path) for path in paths]), paths, strict=True)
    )
    sets = sample_tables(tables, items, Passes(), seed=seed, labelled=True)
    points = points_of(models, sets, hierarchy=hierarchy, drawn_from=tables[0].rows)
    return Sources(models, (), ()), points
