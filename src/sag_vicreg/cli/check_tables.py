"""What ``sag-vicreg check`` prints."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sag_vicreg.cli.terminal import open_console, print_table, titled_table

if TYPE_CHECKING:
    from sag_vicreg.decisions import JoinCheck, SetCheck


def print_checks(checks: "Sequence[SetCheck]", join: "JoinCheck | None") -> None:
    """Print one table, a column per file, then how the files join."""
    from rich.text import Text

    console = open_console()
    columns = [_column(each) for each in checks]
    rows = [(what, *(column[what] for column in columns)) for what in columns[0]]
    print_table(console, titled_table("files", ["", *(each.name for each in checks)], rows))
    for each in checks:
        for fault in each.faults:
            console.print(Text("refused", "red"), f" {each.name}: {fault}")
        for note in each.notes:
            console.print(f"note     {note}")
    if join is not None:
        console.print(join.sentence())


def _column(each: "SetCheck") -> dict[str, str]:
    ids = {"empty": each.empty_ids, "repeated": each.repeated_ids}
    bad = ", ".join(f"{count:,} {what}" for what, count in ids.items() if count)
    norms = "–"
    if each.norms is not None:
        low, middle, high = each.norms
        norms = "1 (normalised)" if each.normalised else f"{low:.3g} to {high:.3g}, {middle:.3g}"
    return {
        "rows": f"{each.rows:,}",
        "dimensions": f"{each.dimensions:,}",
        "stored as": each.dtype,
        "ids": (bad or "unique") if each.has_ids else "none",
        "classes": "–" if each.labels is None else f"{each.labels:,}",
        "rows with NaN or infinity": f"{each.not_finite:,}",
        "zero vectors": f"{each.zero:,}",
        "norms: range, median": norms,
        "exact duplicates": f"{each.duplicates:,}",
        "near duplicates": f"{each.near_duplicates:,}",
        "constant dimensions": f"{each.constant_dimensions:,}",
    }
