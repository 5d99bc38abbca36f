"""All rows of large tables in one picture: a tree of each, branch by branch, and what became of it.

The trees are those of ``compare --clusters``: Ward's, over micro-clusters.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from sag_vicreg.artifacts import EmbeddingTable
from sag_vicreg.artifacts.table_labels import Codes, encode_labels
from sag_vicreg.artifacts.table_samples import ids_of
from sag_vicreg.passes import Passes
from sag_vicreg.report.flow import DrawnFlow, Label, branch_color, called_by, draw_flow
from sag_vicreg.report.tables import Card, number
from sag_vicreg.structure.cluster_branches import (
    PARTS,
    ClusterTree,
    central_rows,
    fates,
    flow,
)
from sag_vicreg.structure.cluster_similarity import (
    cluster_caveat,
    contingency,
    matched_rows,
    pair_table,
)
from sag_vicreg.structure.lca import LCASimilarity, similarity_of
from sag_vicreg.structure.micro_clusters import CLUSTERS, micro_clusters

_EXAMPLES = 3


@dataclass(frozen=True)
class Whole:
    """The section: what it is of, its numbers, a tree of each table, and the flow between them."""

    about: str
    cards: tuple[Card, ...]
    outlines: tuple["TreeOutline", ...]
    sentence: str = ""
    flow: DrawnFlow | None = None


@dataclass(frozen=True)
class TreeOutline:
    """The branches of one table's tree, the root first; those of a branch stand side by side.

    Attributes
    ----------
    nodes
        Of the tree, in this order; all lists below are by it.
    parts
        Places of the branches that each opens into; empty for a micro-cluster.
    examples
        Micro-clusters nearest to the middle of each, as places in ``central``.
    fates
        What each is in the other table; empty where nobody asked.
    central
        The row in the middle of each micro-cluster, by name.
    colors
        Of the branches that the root opens into.
    """

    name: str
    nodes: tuple[int, ...]
    parts: tuple[range, ...]
    rows: tuple[int, ...]
    names: tuple[str, ...]
    examples: tuple[tuple[int, ...], ...]
    fates: tuple[str, ...]
    central: tuple[str, ...]
    colors: tuple[str, ...]

    @property
    def top(self) -> tuple[int, ...]:
        """Nodes of the branches that the root opens into."""
        return tuple(self.nodes[place] for place in self.parts[0])

    def to_dict(self) -> Mapping[str, Any]:
        """Return what the page's script reads."""
        return {
            "name": self.name,
            "parts": [[each.start, len(each)] for each in self.parts],
            "rows": self.rows,
            "names": self.names,
            "examples": self.examples,
            "fates": self.fates,
            "central": self.central,
            "colors": self.colors,
        }


def build_whole(
    tables: Sequence[EmbeddingTable],
    names: Sequence[str],
    *,
    clusters: int = CLUSTERS,
    seed: int = 0,
) -> Whole:
    """Make the trees of one table or two, and describe their branches."""
    passes = Passes()
    trees = [
        ClusterTree.of(micro_clusters(table, passes, clusters=clusters, seed=seed))
        for table in tables
    ]
    outlines = [
        _outline(name, table, tree, labels, passes)
        for name, table, tree, labels in zip(
            names, tables, trees, _labels(tables, passes), strict=True
        )
    ]
    if len(tables) == 1:
        return Whole(_about(trees), (), tuple(outlines))
    (old, new), (tree, other) = outlines, trees
    cells = contingency(tables[0], tables[1], tree.clusters, other.clusters, passes)
    # Of branches: the root is everything, and a micro-cluster is k-means' choice.
    asked = [place for place, parts in enumerate(old.parts) if place and parts]
    said = fates(tree, other, cells, [old.nodes[place] for place in asked])
    became = dict(zip(asked, said, strict=True))
    old = replace(old, fates=tuple(became.get(place, "") for place in range(len(old.nodes))))
    # Every row is in a branch: nothing is left over.
    counts = np.pad(flow(tree, other, cells, (old.top, new.top)), (0, 1))
    drawn = draw_flow(counts, _labels_beside(old), _labels_beside(new))
    colors = tuple(bar.color for bar in sorted(drawn.new, key=lambda bar: bar.place))
    return Whole(
        _about(trees),
        _cards(similarity_of(pair_table(cells, tree.clusters, other.clusters))),
        (old, replace(new, colors=colors)),
        _sentence(old),
        drawn,
    )


def _labels(
    tables: Sequence[EmbeddingTable], passes: Passes
) -> list[tuple[tuple[str, ...], Codes] | None]:
    """Read the labels of each table; one that has none has those of the other."""
    found = [encode_labels(table, passes) for table in tables]
    if len(found) == 2 and (known := found[0] or found[1]) and None in found:
        has = 0 if found[0] else 1
        codes = np.empty(tables[1 - has].rows, np.uint16)
        for rows in matched_rows(tables[0], tables[1], passes):
            codes[rows[1 - has]] = known[1][rows[has]]
        found[1 - has] = known[0], codes
    return found


def _outline(
    name: str,
    table: EmbeddingTable,
    tree: ClusterTree,
    labels: tuple[tuple[str, ...], Codes] | None,
    passes: Passes,
) -> TreeOutline:
    nodes, parts = zip(*tree.outline(), strict=True)
    middle = central_rows(table, tree.clusters, passes)
    central = (
        ids_of(table, middle, passes).tolist()
        if table.has_ids
        else [f"row {row}" for row in middle.tolist()]
    )
    examples = [tuple(tree.central(node, _EXAMPLES).tolist()) for node in nodes]
    if labels is None:
        names = [f"like {central[each[0]]}" for each in examples]
    else:
        names = label_names(tree, *labels, nodes)
    return TreeOutline(
        name=name,
        nodes=nodes,
        parts=parts,
        rows=tuple(tree.rows[list(nodes)].tolist()),
        names=tuple(names),
        examples=tuple(examples),
        fates=("",) * len(nodes),
        central=tuple(central),
        colors=tuple(branch_color(place) for place in range(len(parts[0]))),
    )


def label_names(
    tree: ClusterTree, labels: Sequence[str], codes: Codes, nodes: Sequence[int]
) -> list[str]:
    """Call branches by the label of nearly all their rows, or by the two most frequent ones."""
    counts = np.zeros((tree.tree.n, len(labels)), np.int64)
    np.add.at(counts, (tree.clusters.labels, codes), 1)
    return [
        called_by(
            Counter({label: rows for label, rows in zip(labels, of_node, strict=True) if rows})
        )
        for of_node in tree.tree.under(counts)[list(nodes)].tolist()
    ]


def _labels_beside(outline: TreeOutline) -> list[Label]:
    """Say what stands beside the branches that the root opens into."""
    names, rows, became = outline.names, outline.rows, outline.fates
    return [
        Label(names[k], f"{rows[k]:,} rows, {rows[k] / rows[0]:.0%}", became[k])
        for k in outline.parts[0]
    ]


def _sentence(old: TreeOutline) -> str:
    """Count the largest branches, and their rows, by what became of them."""
    rows: dict[str, list[int]] = {}
    for place in old.parts[0]:
        rows.setdefault(old.fates[place] or "not divided further", []).append(old.rows[place])
    said = ", ".join(f"{len(of)} {fate} ({sum(of):,} rows)" for fate, of in rows.items())
    top = len(old.parts[0])
    return f"Of the {top} highest branches in the first table’s tree of all rows: {said}."


def _about(trees: Sequence[ClusterTree]) -> str:
    n = int(trees[0].rows[trees[0].root])
    counts = " and ".join(dict.fromkeys(f"{tree.tree.n:,}" for tree in trees))
    each = "Each table’s" if len(trees) == 2 else "The table’s"
    return (
        f"{each} {n:,} rows in {counts} micro-clusters, which Ward’s method joins into one tree. "
        f"A branch opens into at most {PARTS} parts, at its highest merges; its examples are in "
        f"the middle of it. {cluster_caveat([tree.clusters.within for tree in trees])}"
    )


def _cards(found: LCASimilarity) -> tuple[Card, ...]:
    return tuple(
        Card(name.capitalize(), number(value), "of all pairs of rows, by one tree each")
        for name, value in asdict(found).items()
    )
