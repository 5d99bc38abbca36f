"""What ``sag-vicreg compare`` prints."""

from collections.abc import Iterable, Sequence
from math import isnan
from typing import TYPE_CHECKING

from sag_vicreg.cli.terminal import print_table, titled_table
from sag_vicreg.errors import visible
from sag_vicreg.scores import COPHENETIC, FOREST, LCA, MISSING, PAPERS_FIVE, measure_of

if TYPE_CHECKING:
    from rich.console import Console

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
    from sag_vicreg.structure.forest_similarity import ScaleSimilarity

_UNSTABLE = "a single tree's scores are unstable here, as the half-samples say: read the forest's"
_FOREST_COLUMNS = ("spearman", "pearson", "kendall")


def print_two(
    console: "Console",
    found: "Comparison",
    near: "Neighborhood",
    extra: "Context | None",
    names: tuple[str, ...],
    matched_by: str,
) -> None:
    """Print the verdict, the forest similarity, the paper's five numbers, and what was done."""
    from sag_vicreg.structure import verdict

    print_head(console, found, verdict(found, shared_neighbors=near.shared), names, matched_by)
    if found.forest is not None:
        _print_forest(console, found.forest)
    shared = f"{measure_of('neighbors.shared').title}, of {near.neighbors}"
    rows = [
        *([] if near.shared is None else [(shared, f"{near.shared:.4f}")]),
        (measure_of("cka").title, f"{near.cka:.4f}"),
    ]
    print_table(
        console,
        titled_table("nearest neighbours and largest directions", ("measure", "value"), rows),
    )
    _print_five(console, found)
    if extra is not None:
        _print_context(console, extra)


def print_head(
    console: "Console",
    found: "Comparison | TableSimilarity",
    verdict: str,
    names: tuple[str, ...],
    matched_by: str,
) -> None:
    """Print what was compared, the verdict, and how."""
    sizes = " and ".join(str(size) for size in dict.fromkeys(found.dimensions))
    console.print(f"{names[0]}  and  {names[1]}", style="bold")
    console.print(verdict)
    console.print(
        f"n = {found.n:,}, matched by {matched_by} · {sizes} dimensions · "
        f"geometry {found.geometry} · {found.seconds:.1f} s\n"
    )


def scale_rows(scales: "Iterable[ScaleSimilarity]") -> list[tuple[str, str]]:
    """Return a row for each share of the closest pairs."""
    rows = []
    for scale in scales:
        size = "" if scale.size is None else f", clusters of about {scale.size:,.0f}"
        rows.append((f"closest {scale.share:.1%} of pairs{size}", f"{scale.similarity:.4f}"))
    return rows


def _print_forest(console: "Console", forest: "ForestSimilarity") -> None:
    sample = f", {forest.items:,} items" if forest.items < forest.n else ""
    title = (
        f"forest similarity: {forest.trees} trees of {forest.leaves:,} leaves{sample}, "
        f"distance {forest.distance}"
    )
    low, high = forest.interval
    reliability = zip(("first", "second"), forest.reliability, strict=True)
    rows = [
        ("corrected", f"{forest.spearman:.4f}", f"{forest.pearson:.4f}"),
        ("  95 % interval, other items", f"{low:.4f} to {high:.4f}"),
        ("  error, other trees", f"±{forest.error:.4f}"),
        *([] if forest.p_value is None else [("  p-value", f"{forest.p_value:.3g}")]),
        ("plain", *(f"{getattr(forest.shared, name):.4f}" for name in _FOREST_COLUMNS)),
        *((measure_of(f"forest.reliability.{of}").title, f"{r:.4f}") for of, r in reliability),
        *scale_rows(forest.by_scale),
    ]
    columns = [measure_of(f"forest.shared.{name}").heading for name in _FOREST_COLUMNS]
    print_table(console, titled_table(title, ["", *columns], rows))
    if forest.missing_pairs:
        console.print(
            f"{forest.missing_pairs:,} pairs that no tree of one group holds are left out"
        )


def _print_five(console: "Console", found: "Comparison") -> None:
    rows = [
        ("similarity", *(f"{value:.4f}" for value in found.values())),
        ("self-score", *("" for _ in LCA), *(f"{value:.4f}" for value in found.self_scores)),
    ]
    notes = [
        "D1 to P2: heights of the first tree against distances of the second set; D2 to P1 the "
        "other way. Self-score: of the first set within itself, and of the second"
    ]
    if found.p_values is not None:
        rows.append(("p-value", *(f"{value:.3g}" for value in found.p_values.values())))
        notes.append(f"p-values: one-sided, {found.permutations} permutations, seed {found.seed}")
    if found.half_samples is not None:
        halves = found.half_samples
        rows.append(("half-samples", *(f"{value:.4f}" for value in halves.mean.values())))
        rows.append(("  spread", *(f"±{value:.4f}" for value in halves.deviation.values())))
    if any(found.ties):
        notes.append(
            f"tied merges: {found.ties[0]:,} and {found.ties[1]:,}; another order of the rows may "
            "give other trees"
        )
    if found.unstable:
        notes.append(_UNSTABLE)
    title = f"the paper's five numbers: one tree of each set, LCA distance {found.lca_distance}"
    columns = [measure_of(key).short.replace(" ", "\n", 1) for key in PAPERS_FIVE]
    print_table(console, titled_table(title, ["", *columns], rows))
    console.print("\n".join(notes))


def _print_context(console: "Console", extra: "Context") -> None:
    from sag_vicreg.structure.companions import RSA_ROWS

    rsa = f"not above {RSA_ROWS:,} rows" if extra.rsa is None else f"{extra.rsa:.4f}"
    rows = [
        (measure_of("rsa").title, rsa),
        (measure_of("entanglement").title, f"{extra.entanglement:.4f}"),
        *(
            (
                f"{measure_of('fowlkes_mallows').title} at {k} clusters",
                f"{value:.4f} (chance {extra.fowlkes_mallows_by_chance[k]:.4f})",
            )
            for k, value in extra.fowlkes_mallows.items()
        ),
    ]
    print_table(console, titled_table("context", ("measure", "value"), rows))


def print_moved(console: "Console", moved: "Movements", naming: "Naming", *, most: int) -> None:
    """Print what moved: branches, classes where there are labels, items."""
    from sag_vicreg.decisions import branch_lines, mover_lines

    console.print(f"\nWhat moved: {moved.sentence()}.", style="bold")
    console.print(
        f"{moved.unresolved:,} items are in no branch that recurs in 70 % of the first set's trees"
    )
    for line in branch_lines(moved, naming, most=most):
        console.print(line)
    if naming.labels is not None:
        rows = [
            (
                visible(row.label),
                f"{row.items:,}",
                f"{row.moved:.1%}",
                f"{row.similarity:.3f}",
                f"{row.neighbors_lost:.1%}",
            )
            for row in moved.by_class(naming.labels)[:most]
        ]
        head = ("class", "items", "moved", "similarity", "neighbours lost")
        print_table(console, titled_table("by class", head, rows))
    for line in mover_lines(moved, naming, most=most):
        console.print(line)


def print_notes(console: "Console", checks: "Sequence[SetCheck]") -> None:
    """Print what is odd about the files; nothing where nothing is."""
    for note in (note for each in checks for note in each.notes):
        console.print(f"note: {visible(note)}")


def print_many(console: "Console", found: "Comparisons", score: str, matched_by: str) -> None:
    """Print one score for every two sets."""
    from sag_vicreg.structure import MATRIX_SCORES

    pair, matrix, key = found.any, found.matrix(score), MATRIX_SCORES[score]
    p_values, deviations = found.p_values(score), found.deviations(score)

    def cell(i: int, j: int) -> str:
        text = MISSING if isnan(matrix[i, j]) else f"{matrix[i, j]:.4f}"
        if i != j and deviations is not None:
            text += f" ±{deviations[i, j]:.4f}"
        if i != j and p_values is not None:
            text += f"\np = {p_values[i, j]:.3g}"
        return text

    places = range(len(found.names))
    rows = [(found.names[i], *(cell(i, j) for j in places)) for i in places]
    title = f"{measure_of(key).title}, every two of {len(found.names)} sets"
    print_table(console, titled_table(title, ["", *found.names], rows))
    if pair.forest_left_out is not None:
        console.print(f"no forest similarity: {pair.forest_left_out}")
    elif key == FOREST and pair.forest is not None:
        console.print(f"corrected forest similarity, Spearman, {pair.forest.trees} trees")
    if deviations is not None and pair.half_samples is not None:
        console.print(f"±: deviation over {pair.half_samples.count} half-samples, spread")
        # A matrix of one cophenetic score holds the other below its diagonal.
        shown = {measure_of(k).name for k in (COPHENETIC if key in COPHENETIC else [key])}
        if any(shown.intersection(each.unstable) for each in found.pairs.values()):
            console.print(_UNSTABLE)
    if p_values is not None:
        console.print(f"p-values: one-sided, {pair.permutations} permutations, seed {pair.seed}")
    seconds = sum(each.seconds for each in found.pairs.values())
    console.print(
        f"n = {pair.n:,}, matched by {matched_by} · geometry {pair.geometry} · "
        f"LCA distance {pair.lca_distance} · {seconds:.1f} s"
    )
