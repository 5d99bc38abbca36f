"""``sag-vicreg compare``: embedding files in, similarities out."""

from pathlib import Path
from typing import Annotated

import typer

from sag_vicreg.cli.columns import ColumnsWithText, Join
from sag_vicreg.cli.options import AsJson, check_outputs, with_groups
from sag_vicreg.cli.own_measures import OwnMeasures
from sag_vicreg.cli.terminal import open_console, print_json


@with_groups
def compare(
    files: Annotated[
        list[str],
        typer.Argument(
            help="Two or more files of embeddings; or two folders, patterns such as "
            "`'part-*.parquet'` or addresses such as `s3://bucket/folder`.",
            metavar="FILES",
        ),
    ],
    geometry: Annotated[
        str, typer.Option(help="cosine, spherical (no n x n matrix) or euclidean.")
    ] = "cosine",
    lca: Annotated[
        str, typer.Option(help="LCA distance of the single trees: level, path, order or height.")
    ] = "level",
    trees: Annotated[
        str | None,
        typer.Option(
            help="Trees of the forest similarity, a multiple of 4, 100 by default; auto adds trees "
            "until their error is below 0.005; 0 leaves it out. With anchors, trees of each set, "
            "40 by default.",
            show_default=False,
        ),
    ] = None,
    forest_lca: Annotated[
        str, typer.Option(help="What a forest's tree says of a pair: size, level, order or height.")
    ] = "size",
    permutations: Annotated[
        int, typer.Option(help="Permutations behind the p-values, such as 199; 0 for none.")
    ] = 0,
    half_samples: Annotated[
        int,
        typer.Option(help="Random halves on which single trees are compared again; 0 for none."),
    ] = 0,
    seed: Annotated[
        int, typer.Option(min=0, help="Seed of forests, permutations and half-samples.")
    ] = 0,
    context: Annotated[
        bool,
        typer.Option(
            "--context", help="For two files: also RSA, entanglement and Fowlkes-Mallows."
        ),
    ] = False,
    score: Annotated[
        str,
        typer.Option(
            help="For more than two files: the matrix to show, "
            "forest, pearson, spearman, kendall, d1_to_p2 or d2_to_p1."
        ),
    ] = "forest",
    movers: Annotated[
        int,
        typer.Option(
            min=0, help="For two files: show at most this many branches and items that moved."
        ),
    ] = 0,
    movers_table: Annotated[
        Path | None, typer.Option(help="For two files: write how every item moved to this .csv.")
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(help="Draw to this .png, .svg or .pdf: trees and histogram, or heat map."),
    ] = None,
    anchors: Annotated[
        int | None,
        typer.Option(
            help="Compare without holding the files in memory, by this many anchors in every tree; "
            "1000 by default for folders of more than 20,000 rows.",
            show_default=False,
        ),
    ] = None,
    leaves: Annotated[
        int, typer.Option(help="With anchors: leaves of each tree, the anchors among them.")
    ] = 5_000,
    memory: Annotated[
        str | None,
        typer.Option(
            help="With anchors: hold at most this much memory, such as 2GB.", show_default=False
        ),
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(
            help="With anchors: read the tables on the workers of the Dask scheduler at this "
            "address, or `local`.",
            metavar="ADDRESS",
            show_default=False,
        ),
    ] = None,
    clusters: Annotated[
        bool,
        typer.Option(
            "--clusters",
            help="For large tables with geometry spherical or euclidean: also compare one tree of "
            "all rows each, over 5,000 micro-clusters.",
        ),
    ] = False,
    *,
    columns: ColumnsWithText,
    join: Join = "exact",
    measure: OwnMeasures = None,
    as_json: AsJson = False,
) -> None:
    """Compare sets of embeddings of the same items by their trees, without labels.

    The first line is the verdict. The forest similarity decides it: 1 where nothing that matters
    changed, 0 for unrelated sets. The paper's five numbers, of single trees, stand below. Rows are
    matched by id where all files have ids, else by position.

    Two folders of more than 20,000 rows are compared without being held in memory, by trees that
    share a set of anchors.

    Example: `sag-vicreg compare old.npy new.parquet --permutations 199 --plot trees.png`
    """
    from sag_vicreg.artifacts import write_text
    from sag_vicreg.cli.compare_held import compare_held
    from sag_vicreg.cli.compare_large import compare_large
    from sag_vicreg.cli.large import bytes_of, open_large
    from sag_vicreg.decisions import movers_csv
    from sag_vicreg.errors import InputError, check_name
    from sag_vicreg.scores import own_measures
    from sag_vicreg.structure import MATRIX_SCORES, TREES

    if len(files) < 2:
        raise InputError(f"{len(files)} file given: comparing needs at least two")
    of_two = {"--context": context, "--movers": movers, "--movers-table": movers_table}
    for option, given in of_two.items():
        if given and len(files) > 2:
            raise InputError(f"{option} compares two files, {len(files)} were given: name two")
    check_outputs(movers_table, plot=plot, inputs=files)
    check_name("score", score, MATRIX_SCORES)
    if trees not in (None, "auto") and not str(trees).isdecimal():
        raise InputError(f"--trees is '{trees}': give a number such as 100, 0 for none, or auto")
    measures = own_measures(measure or (), of="pair")
    asked = clusters or not (anchors is None and memory is None and scheduler is None)
    tables = open_large(files, columns, asked=asked)
    if tables is not None:
        compare_large(
            tables,
            as_json=as_json,
            scheduler=scheduler,
            clusters=clusters,
            unused={
                "--plot": plot is not None,
                "--movers": movers > 0,
                "--movers-table": movers_table is not None,
                "--context": context,
                "--permutations": permutations > 0,
                "--half-samples": half_samples > 0,
                "--trees": trees in ("auto", "0"),
                "--join": join != "exact",
                "--measure": bool(measures),
            },
            options={
                "geometry": geometry,
                "distance": forest_lca,
                "anchors": 1_000 if anchors is None else anchors,
                "leaves": leaves,
                "trees": int(trees) if trees and trees.isdecimal() else 40,
                "memory": None if memory is None else bytes_of(memory),
                "seed": seed,
            },
        )
        return
    held = compare_held(
        files,
        columns,
        join=join,
        measures=measures,
        context=context,
        movements=bool(movers or movers_table),
        options={
            "geometry": geometry,
            "lca": lca,
            "trees": "auto" if trees == "auto" else TREES if trees is None else int(trees),
            "forest_lca": forest_lca,
            "permutations": permutations,
            "half_samples": half_samples,
            "seed": seed,
        },
    )
    if plot is not None:
        held.draw(plot, score)
    if held.moved is not None and movers_table is not None:
        write_text(movers_table, movers_csv(held.moved, held.naming))
    if as_json:
        print_json(held.to_dict(files, movers=movers))
    else:
        held.print(open_console(), score, movers=movers)
