"""``sag-vicreg compare``: embedding files in, similarities out."""

import json
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from sag_vicreg.artifacts import Embeddings


def compare(
    files: Annotated[
        list[Path],
        typer.Argument(help="Two or more of .npy .npz .csv .parquet .safetensors", metavar="FILES"),
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
    seed: Annotated[int, typer.Option(min=0, help="Seed of permutations and half-samples.")] = 0,
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
    from sag_vicreg.cli.compare_tables import print_many, print_two
    from sag_vicreg.errors import InputError, unknown_name
    from sag_vicreg.figures.comparison import draw_many, draw_two
    from sag_vicreg.figures.style import check_figure_path, save_figure
    from sag_vicreg.structure import compare as compare_two
    from sag_vicreg.structure import compare_all
    from sag_vicreg.structure import context as companions
    from sag_vicreg.structure.scores import SCORES

    if len(files) < 2:
        raise InputError(f"{len(files)} file given: comparing needs at least two")
    if context and len(files) > 2:
        raise InputError(f"--context compares two files, {len(files)} were given: name two")
    if plot is not None:
        check_figure_path(plot)
    if score not in SCORES:
        raise unknown_name("score", score, SCORES)
    names = _names(files)
    read = [read_embeddings(path) for path in files]
    sets = align_all(read, [str(path) for path in files])
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
        matched_by = _matched_by(read, files)
        if len(files) == 2:
            found = compare_two(*vectors, names=(names[0], names[1]), **options)
            extra = companions(*found.trees) if context else None
            content = found.to_dict() | {"files": [str(path) for path in files]}
            content["matched_by"] = matched_by
            if extra is not None:
                content["context"] = extra.to_dict()
            figure = draw_two(found, (names[0], names[1])) if plot is not None else None
        else:
            table = compare_all(vectors, names=names, **options)
            matrix = table.matrix(score)
            content = table.to_dict() | {"matched_by": matched_by}
            figure = draw_many(table, score) if plot is not None else None
    for warning in caught:
        typer.echo(f"warning: {warning.message}", err=True)
    if as_json:
        typer.echo(json.dumps(content, indent=2, allow_nan=False))
    elif len(files) == 2:
        print_two(found, extra, names, matched_by)
    else:
        print_many(table, score, matrix, matched_by)
    if plot is not None and figure is not None:
        save_figure(figure, plot)
        typer.echo(f"drew {plot}", err=True)


def _matched_by(sets: "list[Embeddings]", files: list[Path]) -> str:
    """Say how rows find each other; where only some files have ids, that may be by mistake."""
    without = [str(path) for path, each in zip(files, sets, strict=True) if each.ids is None]
    if not without:
        return "id"
    if len(without) < len(files):
        warnings.warn(
            f"{', '.join(without)} has no ids, so rows are matched by position; if the files list "
            "their items in different orders, the scores mean nothing",
            stacklevel=2,
        )
    return "position"


def _names(files: list[Path]) -> tuple[str, ...]:
    """Call files by their names, with as many folders before as tell them apart."""
    for parts in range(1, max(len(path.parts) for path in files) + 1):
        names = tuple("/".join(path.parts[-parts:]) for path in files)
        if len(set(names)) == len(names):
            return names
    return tuple(f"{path} ({index})" for index, path in enumerate(files, 1))
