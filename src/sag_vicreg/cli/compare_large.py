"""``sag-vicreg compare`` for tables that are not held in memory: folders, patterns, addresses."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sag_vicreg.cli.reading import short_names, warn_of_positions, warnings_as_lines
from sag_vicreg.cli.terminal import open_console, print_json, print_table

if TYPE_CHECKING:
    from sag_vicreg.artifacts import EmbeddingTable
    from sag_vicreg.structure import ClusterSimilarity, TableSimilarity


def compare_large(
    tables: "Sequence[EmbeddingTable]",
    *,
    unused: dict[str, bool],
    as_json: bool,
    scheduler: str | None,
    clusters: bool,
    options: dict[str, Any],
) -> None:
    """Compare two tables by forests with anchors, and print what was found.

    ``unused`` are the options that speak of single trees, and whether they were given.
    """
    from sag_vicreg.cluster import open_passes
    from sag_vicreg.errors import InputError
    from sag_vicreg.structure import compare_clusters, compare_tables
    from sag_vicreg.structure.micro_clusters import check_cluster_geometry

    if len(tables) != 2:
        raise InputError(f"{len(tables)} large tables: compare two at a time")
    if given := next((option for option, was_given in unused.items() if was_given), None):
        raise InputError(
            f"{given} needs all rows in memory, and large tables are compared by forests with "
            "anchors: leave it out, or give a single file of fewer rows"
        )
    if clusters:
        check_cluster_geometry(options["geometry"])
    a, b = tables
    with warnings_as_lines():
        warn_of_positions([table.name for table in tables], [table.has_ids for table in tables])
        with open_passes(scheduler) as passes:
            found = compare_tables(a, b, passes=passes, **options)
            same = {key: options[key] for key in ("geometry", "memory", "seed")}
            whole = compare_clusters(a, b, passes=passes, **same) if clusters else None
    if as_json:
        content = {"files": [table.name for table in tables], **found.to_dict()}
        if whole is not None:
            content["clusters"] = whole.to_dict()
        print_json(content)
    else:
        _print(found, whole, short_names([Path(table.name) for table in tables]))


def _print(
    found: "TableSimilarity", whole: "ClusterSimilarity | None", names: tuple[str, ...]
) -> None:
    from sag_vicreg.cli.compare_tables import print_head, titled_table
    from sag_vicreg.structure import table_verdict
    from sag_vicreg.structure.cluster_similarity import cluster_caveat

    console = open_console()
    print_head(console, found, table_verdict(found), names, found.matched_by)
    table = titled_table(
        f"forest similarity: {found.sets} sets of {found.anchors:,} anchors, each with "
        f"{found.trees} trees of {found.leaves:,} leaves, distance {found.distance}",
        "",
        "Spearman",
        "Pearson",
    )
    low, high = found.interval
    table.add_row("corrected", f"{found.spearman:.4f}", f"{found.pearson:.4f}")
    table.add_row("  95 % interval, other anchors and trees", f"{low:.4f} to {high:.4f}", "")
    table.add_row("  twice the anchors would move it by", f"{found.twice_the_anchors:+.4f}", "")
    for which, value in zip(("first", "second"), found.reliability, strict=True):
        table.add_row(f"reliability, {which} table", f"{value:.4f}", "")
    for scale in found.by_scale:
        size = "" if scale.size is None else f", clusters of about {scale.size:,.0f}"
        table.add_row(f"closest {scale.share:.1%} of pairs{size}", f"{scale.similarity:.4f}", "")
    shared = f"{found.neighbors_shared:.1%} ± {1.96 * found.neighbors_error:.1%}"
    table.add_row(f"{found.neighbors} nearest of the anchors, shared", shared, "")
    print_table(console, table)
    if whole is None:
        return
    sizes = " and ".join(f"{count:,}" for count in dict.fromkeys(whole.clusters))
    table = titled_table(
        f"one tree of all {whole.n:,} rows each, of {sizes} micro-clusters, distance size",
        "",
        "Pearson",
        "Spearman",
        "Kendall",
    )
    table.add_row(
        "LCA similarity", f"{whole.pearson:.4f}", f"{whole.spearman:.4f}", f"{whole.kendall:.4f}"
    )
    print_table(console, table)
    console.print(cluster_caveat(whole.within), highlight=False)
