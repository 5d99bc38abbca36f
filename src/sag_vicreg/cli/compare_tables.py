"""What ``sag-vicreg compare`` prints."""

from collections.abc import Sequence
from math import isnan
from typing import TYPE_CHECKING, Any

from sag_vicreg.cli.terminal import open_console, print_table
from sag_vicreg.errors import visible
from sag_vicreg.scores import COPHENETIC, FOREST, LCA, MISSING, PAPERS_FIVE, measure_of

if TYPE_CHECKING:
    from sag_vicreg.decisions import Naming, SetCheck
    from sag_vicreg.structure import (
        Comparison,
        Comparisons,
        Context,
        ForestSimilarity,
        Movements,
        Neighborhood,
        TableSimilarity,
    )

_UNSTABLE = "a single tree's scores are unstable here, as the half-samples say: read the forest's"
_FOREST_COLUMNS = ("spearman", "pearson", "kendall")


def print_two(
    found: "Comparison",
    near: "Neighborhood",
    extra: "Context | None",
    names: tuple[str, ...],
    matched_by: str,
) -> None:
    """Print the verdict, the forest similarity, the paper's five numbers, and what was done."""
    from sag_vicreg.structure import verdict

    console = open_console()
    print_head(console, found, verdict(found, shared_neighbors=near.shared), names, matched_by)
    if found.forest is not None:
        _print_forest(console, found.forest)
    table = titled_table("nearest neighbours and largest directions", "measure", "value")
    if near.shared is not None:
        title = f"{measure_of('neighbors.shared').title}, of {near.neighbors}"
        table.add_row(title, f"{near.shared:.4f}")
    table.add_row(measure_of("cka").title, f"{near.cka:.4f}")
    print_table(console, table)
    _print_five(console, found)
    if extra is not None:
        _print_context(console, extra)


def print_head(
    console: Any,
    found: "Comparison | TableSimilarity",
    verdict: str,
    names: tuple[str, ...],
    matched_by: str,
) -> None:
    """Print what was compared, the verdict, and how."""
    from rich.markup import escape

    sizes = " and ".join(str(size) for size in dict.fromkeys(found.dimensions))
    console.print(f"{escape(names[0])}  and  {escape(names[1])}", style="bold", highlight=False)
    console.print(verdict, highlight=False)
    console.print(
        f"n = {found.n:,}, matched by {matched_by} · {sizes} dimensions · "
        f"geometry {found.geometry} · {found.seconds:.1f} s\n",
        highlight=False,
    )


def titled_table(title: str, first: str, *columns: str) -> Any:
    """Make a table of a left column and right-aligned ones."""
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    table.add_column(first)
    for column in columns:
        table.add_column(column, justify="right")
    return table


def _print_forest(console: Any, forest: "ForestSimilarity") -> None:
    sample = f", {forest.items:,} items" if forest.items < forest.n else ""
    table = titled_table(
        f"forest similarity: {forest.trees} trees of {forest.leaves:,} leaves{sample}, "
        f"distance {forest.distance}",
        "",
        *(measure_of(f"forest.shared.{name}").heading for name in _FOREST_COLUMNS),
    )
    low, high = forest.interval
    table.add_row("corrected", f"{forest.spearman:.4f}", f"{forest.pearson:.4f}", "")
    table.add_row("  95 % interval, other items", f"{low:.4f} to {high:.4f}", "", "")
    table.add_row("  error, other trees", f"±{forest.error:.4f}", "", "")
    if forest.p_value is not None:
        table.add_row("  p-value", f"{forest.p_value:.3g}", "", "")
    plain = forest.shared
    table.add_row("plain", *(f"{getattr(plain, name):.4f}" for name in _FOREST_COLUMNS))
    for which, value in zip(("first", "second"), forest.reliability, strict=True):
        title = measure_of(f"forest.reliability.{which}").title
        table.add_row(title, f"{value:.4f}", "", "")
    for scale in forest.by_scale:
        size = "" if scale.size is None else f", clusters of about {scale.size:,.0f}"
        table.add_row(
            f"closest {scale.share:.1%} of pairs{size}", f"{scale.similarity:.4f}", "", ""
        )
    print_table(console, table)
    if forest.missing_pairs:
        console.print(
            f"{forest.missing_pairs:,} pairs that no tree of one group holds are left out",
            highlight=False,
        )


def _print_five(console: Any, found: "Comparison") -> None:
    table = titled_table(
        f"the paper's five numbers: one tree of each set, LCA distance {found.lca_distance}",
        "",
        *(measure_of(key).short.replace(" ", "\n", 1) for key in PAPERS_FIVE),
    )
    table.add_row("similarity", *(f"{value:.4f}" for value in found.values()))
    own = (f"{value:.4f}" for value in found.self_scores)
    table.add_row("self-score", *("" for _ in LCA), *own)
    if found.p_values is not None:
        table.add_row("p-value", *(f"{value:.3g}" for value in found.p_values.values()))
    halves = found.half_samples
    if halves is not None:
        table.add_row("half-samples", *(f"{value:.4f}" for value in halves.mean.values()))
        table.add_row("  spread", *(f"±{value:.4f}" for value in halves.deviation.values()))
    print_table(console, table)
    notes = [
        "D1 to P2: heights of the first tree against distances of the second set; D2 to P1 the "
        "other way. Self-score: of the first set within itself, and of the second"
    ]
    if found.p_values is not None:
        notes.append(f"p-values: one-sided, {found.permutations} permutations, seed {found.seed}")
    if any(found.ties):
        notes.append(
            f"tied merges: {found.ties[0]:,} and {found.ties[1]:,}; another order of the rows may "
            "give other trees"
        )
    if found.unstable:
        notes.append(_UNSTABLE)
    for note in notes:
        console.print(note, highlight=False)


def _print_context(console: Any, extra: "Context") -> None:
    from sag_vicreg.structure.companions import RSA_ROWS

    table = titled_table("context", "measure", "value")
    rsa = f"not above {RSA_ROWS:,} rows" if extra.rsa is None else f"{extra.rsa:.4f}"
    table.add_row(measure_of("rsa").title, rsa)
    table.add_row(measure_of("entanglement").title, f"{extra.entanglement:.4f}")
    title = measure_of("fowlkes_mallows").title
    for k, value in extra.fowlkes_mallows.items():
        chance = extra.fowlkes_mallows_by_chance[k]
        table.add_row(f"{title} at {k} clusters", f"{value:.4f} (chance {chance:.4f})")
    print_table(console, table)


def print_moved(moved: "Movements", naming: "Naming", *, most: int) -> None:
    """Print what moved: branches, classes where there are labels, items."""
    from rich.markup import escape

    from sag_vicreg.decisions import branch_lines, mover_lines

    console = open_console()
    console.print(f"\nWhat moved: {moved.sentence()}.", style="bold", highlight=False)
    console.print(
        f"{moved.unresolved:,} items are in no branch that recurs in 70 % of the first set's trees",
        highlight=False,
    )
    for line in branch_lines(moved, naming, most=most):
        console.print(line, highlight=False, markup=False)
    if naming.labels is not None:
        table = titled_table("by class", "class", "items", "moved", "similarity", "neighbours lost")
        for row in moved.by_class(naming.labels)[:most]:
            share = (f"{row.moved:.1%}", f"{row.similarity:.3f}", f"{row.neighbors_lost:.1%}")
            table.add_row(escape(visible(row.label)), f"{row.items:,}", *share)
        print_table(console, table)
    for line in mover_lines(moved, naming, most=most):
        console.print(line, highlight=False, markup=False)


def print_notes(checks: "Sequence[SetCheck]") -> None:
    """Print what is odd about the files; nothing where nothing is."""
    console = open_console()
    for note in (note for each in checks for note in each.notes):
        console.print(f"note: {visible(note)}", highlight=False, markup=False)


def print_many(found: "Comparisons", score: str, matched_by: str) -> None:
    """Print one score for every two sets."""
    from rich.markup import escape

    from sag_vicreg.structure import MATRIX_SCORES

    console = open_console()
    pair, matrix, key = found.any, found.matrix(score), MATRIX_SCORES[score]
    title = f"{measure_of(key).title}, every two of {len(found.names)} sets"
    table = titled_table(title, "", *map(escape, found.names))
    p_values, deviations = found.p_values(score), found.deviations(score)
    for i, name in enumerate(found.names):
        cells = [MISSING if isnan(value) else f"{value:.4f}" for value in matrix[i]]
        for j in range(len(cells)):
            if i != j and deviations is not None:
                cells[j] += f" ±{deviations[i, j]:.4f}"
            if i != j and p_values is not None:
                cells[j] += f"\np = {p_values[i, j]:.3g}"
        table.add_row(escape(name), *cells)
    print_table(console, table)
    if pair.forest_left_out is not None:
        console.print(f"no forest similarity: {pair.forest_left_out}", highlight=False)
    elif key == FOREST and pair.forest is not None:
        console.print(
            f"corrected forest similarity, Spearman, {pair.forest.trees} trees", highlight=False
        )
    if deviations is not None and pair.half_samples is not None:
        count = pair.half_samples.count
        console.print(f"±: deviation over {count} half-samples, spread", highlight=False)
        # A matrix of one cophenetic score holds the other below its diagonal.
        shown = {measure_of(k).name for k in (COPHENETIC if key in COPHENETIC else [key])}
        if any(shown.intersection(each.unstable) for each in found.pairs.values()):
            console.print(_UNSTABLE, highlight=False)
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
