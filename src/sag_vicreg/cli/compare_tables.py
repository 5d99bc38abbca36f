"""What ``sag-vicreg compare`` prints."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sag_vicreg.structure import Comparison, Comparisons, Context


def print_two(
    found: "Comparison", extra: "Context | None", names: tuple[str, ...], matched_by: str
) -> None:
    """Print the five numbers, what is known of their uncertainty, and what was done."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console()
    columns = ("Pearson", "Spearman", "Kendall", "D1 to P2", "D2 to P1")
    table = Table(title=f"{escape(names[0])}  and  {escape(names[1])}", title_justify="left")
    table.add_column("")
    for index, column in enumerate(columns):
        table.add_column(f"{'LCA' if index < 3 else 'cophenetic'}\n{column}", justify="right")
    table.add_row("similarity", *(f"{value:.4f}" for value in found.values()))
    if found.p_values is not None:
        table.add_row("p-value", *(f"{value:.3g}" for value in found.p_values.values()))
    if found.half_samples is not None:
        spread = found.half_samples
        table.add_row("half-samples", *(f"{value:.4f}" for value in spread.mean.values()))
        table.add_row("  spread", *(f"±{value:.4f}" for value in spread.deviation.values()))
    console.print(table)
    console.print(
        f"n = {found.n:,}, matched by {matched_by} · geometry {found.geometry} · "
        f"LCA distance {found.lca_distance} · {found.seconds:.1f} s",
        highlight=False,
    )
    if found.p_values is not None:
        console.print(
            f"p-values: one-sided, {found.permutations} permutations, seed {found.seed}",
            highlight=False,
        )
    if any(found.ties):
        console.print(
            f"tied merges: {found.ties[0]:,} and {found.ties[1]:,}; another order of the rows may "
            "give other trees",
            highlight=False,
        )
    if extra is not None:
        _print_context(console, extra)


def _print_context(console: Any, extra: "Context") -> None:
    from rich.table import Table

    table = Table(title="context", title_justify="left")
    table.add_column("measure")
    table.add_column("value", justify="right")
    table.add_row("linear CKA", f"{extra.cka:.4f}")
    refused = "not above 20,000 rows"
    table.add_row(
        "RSA, Spearman of distances", f"{extra.rsa:.4f}" if extra.rsa is not None else refused
    )
    table.add_row(f"mutual {extra.neighbors} neighbours", f"{extra.mutual_neighbors:.4f}")
    table.add_row("entanglement, untangled", f"{extra.entanglement:.4f}")
    for k, value in extra.fowlkes_mallows.items():
        chance = extra.fowlkes_mallows_by_chance[k]
        table.add_row(f"Fowlkes-Mallows at {k} clusters", f"{value:.4f} (chance {chance:.4f})")
    console.print(table)


def print_many(found: "Comparisons", score: str, matrix: Any, matched_by: str) -> None:
    """Print one score for every two sets."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console()
    pair = found.pairs[0, 1]
    table = Table(title=f"{score}, every two of {len(found.names)} sets", title_justify="left")
    table.add_column("")
    for name in found.names:
        table.add_column(escape(name), justify="right")
    p_values, deviations = found.p_values(score), found.deviations(score)
    for i, name in enumerate(found.names):
        cells = [f"{value:.4f}" for value in matrix[i]]
        for j in range(len(cells)):
            if i != j and deviations is not None:
                cells[j] += f" ±{deviations[i, j]:.4f}"
            if i != j and p_values is not None:
                cells[j] += f"\np = {p_values[i, j]:.3g}"
        table.add_row(escape(name), *cells)
    console.print(table)
    if pair.half_samples is not None:
        count = pair.half_samples.half_samples
        console.print(f"±: deviation over {count} half-samples, spread", highlight=False)
    if p_values is not None:
        console.print(
            f"p-values: one-sided, {pair.permutations} permutations, seed {pair.seed}",
            highlight=False,
        )
    seconds = sum(each.seconds for each in found.pairs.values())
    console.print(
        f"n = {pair.n:,}, matched by {matched_by} · geometry {pair.geometry} · "
        f"LCA distance {pair.lca_distance} · {seconds:.1f} s",
        highlight=False,
    )
