"""What ``sag-vicreg check`` prints."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sag_vicreg.cli.terminal import open_console, print_table

if TYPE_CHECKING:
    from sag_vicreg.decisions import JoinCheck, SetCheck


def print_checks(checks: "Sequence[SetCheck]", join: "JoinCheck | None") -> None:
    """Print one table, a column per file, then how the files join."""
    from rich.markup import escape
    from rich.table import Table

    console = open_console()
    table = Table(title="files", title_justify="left")
    table.add_column("")
    for each in checks:
        table.add_column(escape(each.name), justify="right")
    for what, cells in _lines(checks).items():
        table.add_row(what, *cells)
    print_table(console, table)
    for each in checks:
        for fault in each.faults:
            console.print(f"[red]refused[/red]  {escape(f'{each.name}: {fault}')}", highlight=False)
        for note in each.notes:
            console.print(f"note     {escape(note)}", highlight=False)
    if join is not None:
        console.print(escape(join.sentence()), highlight=False)


def _lines(checks: "Sequence[SetCheck]") -> dict[str, list[str]]:
    def norms(each: "SetCheck") -> str:
        if each.norms is None:
            return "–"
        low, middle, high = each.norms
        return "1 (normalised)" if each.normalised else f"{low:.3g} to {high:.3g}, {middle:.3g}"

    def ids(each: "SetCheck") -> str:
        if not each.has_ids:
            return "none"
        bad = {"empty": each.empty_ids, "repeated": each.repeated_ids}
        return ", ".join(f"{count:,} {what}" for what, count in bad.items() if count) or "unique"

    return {
        "rows": [f"{each.rows:,}" for each in checks],
        "dimensions": [f"{each.dimensions:,}" for each in checks],
        "stored as": [each.dtype for each in checks],
        "ids": [ids(each) for each in checks],
        "classes": ["–" if each.labels is None else f"{each.labels:,}" for each in checks],
        "rows with NaN or infinity": [f"{each.not_finite:,}" for each in checks],
        "zero vectors": [f"{each.zero:,}" for each in checks],
        "norms: range, median": [norms(each) for each in checks],
        "exact duplicates": [f"{each.duplicates:,}" for each in checks],
        "near duplicates": [f"{each.near_duplicates:,}" for each in checks],
        "constant dimensions": [f"{each.constant_dimensions:,}" for each in checks],
    }
