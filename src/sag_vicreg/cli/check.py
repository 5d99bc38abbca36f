"""``sag-vicreg check``: what is in embedding files, before anything is compared."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from sag_vicreg.cli.columns import Columns
from sag_vicreg.cli.large import Memory, bytes_of, open_large
from sag_vicreg.cli.options import AsJson, with_groups
from sag_vicreg.cli.reading import is_many_files, short_names
from sag_vicreg.cli.terminal import print_json

if TYPE_CHECKING:
    from sag_vicreg.artifacts import Embeddings, EmbeddingTable


@with_groups
def check(
    files: Annotated[
        list[str],
        typer.Argument(
            help="Files of embeddings, folders of them, patterns or addresses.",
            metavar="FILES",
        ),
    ],
    *,
    columns: Columns,
    memory: Memory = None,
    as_json: AsJson = False,
) -> None:
    """Look for faults in embedding files: NaN, repeated ids, zero vectors, duplicates.

    Prints one table, and how the rows of several files join. Exits with 2 where a comparison would
    refuse a file, and says what to do about it.

    Example: `sag-vicreg check old.npy new.parquet`
    """
    from sag_vicreg.artifacts import open_table, read_embeddings
    from sag_vicreg.cli.check_tables import print_checks
    from sag_vicreg.decisions import check_join, check_set
    from sag_vicreg.errors import InputError

    limit = None if memory is None else bytes_of(memory)
    large = open_large(files, columns, asked=limit is not None)
    # A folder is not read whole: one bad row would end that, and here they are counted.
    sets: Sequence[Embeddings | EmbeddingTable] = large or [
        open_table(where, names=each)
        if is_many_files(where)
        else read_embeddings(where, **asdict(each))
        for where, each in zip(files, columns.of_each(len(files)), strict=True)
    ]
    checks = [
        check_set(each, name, memory=limit)
        for each, name in zip(sets, short_names(files), strict=True)
    ]
    join = check_join(sets) if len(sets) > 1 else None
    if as_json:
        print_json({"files": [each.to_dict() for each in checks], "join": join and join.to_dict()})
    else:
        print_checks(checks, join)
    faults = [f"{each.name}: {fault}" for each in checks for fault in each.faults]
    if join is not None and join.fault is not None:
        faults.append(join.fault)
    if faults:
        rest = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
        raise InputError(faults[0] + rest)
