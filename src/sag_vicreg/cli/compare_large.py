"""``sag-vicreg compare`` for tables that are not held in memory: folders, patterns, addresses."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sag_vicreg.cli.reading import short_names, warn_of_positions, warnings_as_lines
from sag_vicreg.cli.terminal import open_console, print_json, print_table, titled_table

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
        _print(found, whole, short_names([table.name for table in tables]))


def _print(
    found: "TableSimilarity", whole: "ClusterSimilarity | None", names: tuple[str, ...]
) -> None:
    from sag_vicreg.cli.compare_tables import print_head, scale_rows
    from sag_vicreg.structure import table_verdict
    from sag_vicreg.structure.cluster_similarity import cluster_caveat

    console = open_console()
    print_head(console, found, table_verdict(found), names, found.matched_by)
    title = (
        f"forest similarity: {found.sets} sets of {found.anchors:,} anchors, each with "
        f"{found.trees} trees of {found.leaves:,} leaves, distance {found.distance}"
    )
    low, high = found.interval
    first, second = found.reliability
    shared = f"{found.neighbors_shared:.1%} ± {1.96 * found.neighbors_error:.1%}"
    rows = [
        ("corrected", f"{found.spearman:.4f}", f"{found.pearson:.4f}"),
        ("  95 % interval, other anchors and trees", f"{low:.4f} to {high:.4f}"),
        ("  twice the anchors would move it by", f"{found.twice_the_anchors:+.4f}"),
        ("reliability, first table", f"{first:.4f}"),
        ("reliability, second table", f"{second:.4f}"),
        *scale_rows(found.by_scale),
        (f"{found.neighbors} nearest of the anchors, shared", shared),
    ]
    print_table(console, titled_table(title, ("", "Spearman", "Pearson"), rows))
    if whole is None:
        return
    sizes = " and ".join(f"{count:,}" for count in dict.fromkeys(whole.clusters))
    title = f"one tree of all {whole.n:,} rows each, of {sizes} micro-clusters, distance size"
    scores = (f"{score:.4f}" for score in (whole.pearson, whole.spearman, whole.kendall))
    head = ("", "Pearson", "Spearman", "Kendall")
    print_table(console, titled_table(title, head, [("LCA similarity", *scores)]))
    console.print(cluster_caveat(whole.within))
