"""``sag-vicreg compare``: embedding files in, similarities out."""

import json
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from sag_vicreg.structure import Comparison, Comparisons, Context


def compare(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Two or more of .npy .npz .csv .parquet .safetensors", metavar="FILE..."
        ),
    ],
    geometry: Annotated[
        str, typer.Option(help="cosine, spherical (no n x n matrix) or euclidean.")
    ] = "cosine",
    lca: Annotated[str, typer.Option(help="LCA distance: level, path, order or height.")] = "level",
    permutations: Annotated[
        int, typer.Option(help="Permutations behind the p-values, e.g. 199; 0 for none.")
    ] = 0,
    half_samples: Annotated[
        int, typer.Option(help="Random halves to compare anew, for the spread; 0 for none.")
    ] = 0,
    seed: Annotated[int, typer.Option(help="Of permutations and half-samples.")] = 0,
    context: Annotated[
        bool,
        typer.Option(
            "--context", help="Also CKA, RSA, mutual neighbours, entanglement, Fowlkes-Mallows."
        ),
    ] = False,
    score: Annotated[
        str,
        typer.Option(
            help="Of more than two files, the matrix to show: "
            "pearson, spearman, kendall, d1_to_p2 or d2_to_p1."
        ),
    ] = "spearman",
    plot: Annotated[
        Path | None,
        typer.Option(help="Draw to this .png, .svg or .pdf: trees and histogram, or heat map."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """Compare sets of embeddings of the same items by their dendrograms, without labels.

    Rows are matched by id where all files have ids, else by position. Scores near 1 mean that the
    sets agree on which items belong together and how closely.

    Example: `sag-vicreg compare old.npy new.parquet --permutations 199 --plot trees.png`
    """
    from sag_vicreg.artifacts import align_all, read_embeddings
    from sag_vicreg.errors import InputError
    from sag_vicreg.figures.style import check_figure_path, save_figure
    from sag_vicreg.structure import compare as compare_two
    from sag_vicreg.structure import compare_all
    from sag_vicreg.structure import context as companions

    if len(files) < 2:
        raise InputError(f"{len(files)} file given: comparing needs at least two")
    if context and len(files) > 2:
        raise InputError(f"--context compares two files, {len(files)} were given: name two")
    if plot is not None:
        check_figure_path(plot)
    names = _names(files)
    sets = align_all([read_embeddings(path) for path in files], [str(path) for path in files])
    vectors = [each.vectors for each in sets]
    options: dict[str, Any] = {
        "geometry": geometry,
        "lca": lca,
        "permutations": permutations,
        "half_samples": half_samples,
        "seed": seed,
    }
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        if len(files) == 2:
            found = compare_two(*vectors, names=(names[0], names[1]), **options)
            extra = companions(*found.trees) if context else None
            content = found.to_dict() | {"files": [str(path) for path in files]}
            if extra is not None:
                content["context"] = extra.to_dict()
            figure = _draw_two(found, names) if plot is not None else None
        else:
            table = compare_all(vectors, names=names, **options)
            matrix = table.matrix(score)
            content = table.to_dict()
            figure = _draw_many(table, score) if plot is not None else None
    for warning in caught:
        typer.echo(f"warning: {warning.message}", err=True)
    if as_json:
        typer.echo(json.dumps(content, indent=2, allow_nan=False))
    elif len(files) == 2:
        _print_two(found, extra, names)
    else:
        _print_many(table, score, matrix)
    if plot is not None and figure is not None:
        save_figure(figure, plot)
        typer.echo(f"drew {plot}", err=True)


def _names(files: list[Path]) -> tuple[str, ...]:
    """Call files by their names, with as many folders before as tell them apart."""
    for parts in range(1, max(len(path.parts) for path in files) + 1):
        names = tuple("/".join(path.parts[-parts:]) for path in files)
        if len(set(names)) == len(names):
            return names
    return tuple(f"{path} ({index})" for index, path in enumerate(files, 1))


def _print_two(found: "Comparison", extra: "Context | None", names: tuple[str, ...]) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console()
    columns = ("Pearson", "Spearman", "Kendall", "D1 to P2", "D2 to P1")
    table = Table(title=f"{names[0]}  and  {names[1]}", title_justify="left")
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
        f"n = {found.n:,} · geometry {found.geometry} · LCA distance {found.lca_distance} · "
        f"{found.seconds:.1f} s",
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


def _print_many(found: "Comparisons", score: str, matrix: Any) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console()
    pair = found.pairs[0, 1]
    table = Table(title=f"{score}, every two of {len(found.names)} sets", title_justify="left")
    table.add_column("")
    for name in found.names:
        table.add_column(name, justify="right")
    for name, row in zip(found.names, matrix, strict=True):
        table.add_row(name, *(f"{value:.4f}" for value in row))
    console.print(table)
    seconds = sum(each.seconds for each in found.pairs.values())
    console.print(
        f"n = {pair.n:,} · geometry {pair.geometry} · LCA distance {pair.lca_distance} · "
        f"{seconds:.1f} s",
        highlight=False,
    )


def _draw_two(found: "Comparison", names: tuple[str, ...]) -> Any:
    from sag_vicreg.figures.trees import draw_comparison
    from sag_vicreg.structure import cut, dendrogram, joint_table, untangle

    one, other = found.trees
    facing = untangle(one, other)
    top = 150 if found.n <= 150 else 60
    values = found.values()
    return draw_comparison(
        dendrogram(one, order=facing.order_a, top=top),
        dendrogram(other, order=facing.order_b, top=top),
        cut(one, min(6, found.n - 1)),
        joint_table(one, other, found.lca_distance).histogram(),
        names=(names[0], names[1]),
        title=(
            f"LCA {found.lca_distance}: Pearson {values[0]:.3f}, Spearman {values[1]:.3f}, "
            f"Kendall {values[2]:.3f}; cophenetic {values[3]:.3f} and {values[4]:.3f}; "
            f"geometry {found.geometry}, n = {found.n:,}"
        ),
        lca=found.lca_distance,
    )


def _draw_many(found: "Comparisons", score: str) -> Any:
    from sag_vicreg.figures.trees import draw_matrix

    pair = found.pairs[0, 1]
    labels = {
        "pearson": "LCA similarity, Pearson",
        "spearman": "LCA similarity, Spearman",
        "kendall": "LCA similarity, Kendall",
        "d1_to_p2": "cophenetic similarity, tree of row to distances of column",
        "d2_to_p1": "cophenetic similarity, tree of column to distances of row",
    }
    return draw_matrix(
        found.matrix(score),
        names=found.names,
        title=f"n = {pair.n:,}, geometry {pair.geometry}",
        label=labels[score],
    )
