"""The vocabulary of scores: what each is called, its unit, which way is better, what to beware of.

Whoever prints, draws, averages or stores a score asks here. A score has a flat key
(``lca.pearson``, ``knn.level1``, ``rand.clusters20``); a measure taken at several levels or numbers
of clusters is one entry of the vocabulary. Entries stand in the order in which tables show them.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sag_vicreg.errors import InputError, unknown_name
from sag_vicreg.plugins import Plugins

CLUSTER_COUNTS = tuple(range(20, 201, 20))
"""Numbers of clusters behind figure 4b."""
UNSTABLE = 0.05
"""A single-tree score that half-samples move by more than this says little by itself."""
MISSING = "–"
"""What stands in a table where there is no score."""


@dataclass(frozen=True)
class Measure:
    """One entry: how a score is written, read and ranked."""

    key: str
    title: str
    short: str = ""
    """For the head of a column; the title where it is short enough."""
    heading: str = ""
    """For the head of a column that stands under the name of its group."""
    unit: Literal["", "percent"] = ""
    """Shares that are read in percent are stored as shares."""
    better: Literal["higher", "lower"] | None = "higher"
    """None for what describes and does not rank."""
    caveat: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "short", self.short or self.title)
        object.__setattr__(self, "heading", self.heading or self.short)

    @property
    def name(self) -> str:
        """The last part of the key: ``pearson`` of ``lca.pearson``."""
        return self.key.rpartition(".")[2]

    @property
    def factor(self) -> float:
        """What a stored value is multiplied by to be read in its unit."""
        return 100.0 if self.unit == "percent" else 1.0


@dataclass(frozen=True)
class OwnMeasure(Measure):
    """A measure that another package brings: an entry of the vocabulary that computes itself.

    Attributes
    ----------
    of_set
        From vectors (n, d) and the class of each row, a whole number, to one number: of
        ``evaluate``.
    of_pair
        From the vectors (n, d) and (n, e) of the same items in two sets to one number: of
        ``compare``.
    """

    of_set: Callable[[Any, Any], float] | None = None
    of_pair: Callable[[Any, Any], float] | None = None

    def score_set(self, vectors: Any, labels: Any) -> float:
        """Score one labelled set; whatever is not a finite number is refused."""
        assert self.of_set is not None
        return self._finite(self.of_set(vectors, labels))

    def score_pair(self, a: Any, b: Any) -> float:
        """Score two sets; whatever is not a finite number is refused."""
        assert self.of_pair is not None
        return self._finite(self.of_pair(a, b))

    def _finite(self, found: Any) -> float:
        try:
            value = float(found)
        except (TypeError, ValueError):
            value = math.nan
        if not math.isfinite(value):
            raise InputError(
                f"measure {self.key} returned {str(found)[:80]}, which is no finite number: leave "
                "it out here, or mend it in its package"
            )
        return value


_RAND_CAVEAT = (
    "Chance alone raises the plain Rand index with the number of clusters, as most pairs are then "
    "apart in both partitions: compare models at one number, or read the adjusted Rand index."
)
_CLASS_TREE_CAVEAT = (
    "class tree: LCA levels of one Ward tree of the class centroids against the hierarchy's; "
    "a single tree jumps by chance, so small differences mean nothing"
)


def _correlations(prefix: str, title: str, short: str, caveat: str = "") -> tuple[Measure, ...]:
    return tuple(
        Measure(
            f"{prefix}.{name.lower()}", f"{title}, {name}", f"{short} {name}", name, caveat=caveat
        )
        for name in ("Pearson", "Spearman", "Kendall")
    )


MEASURES = {
    each.key: each
    for each in (
        Measure("forest.spearman", "Forest similarity", "Forest Spearman"),
        Measure("forest.pearson", "Forest similarity, Pearson", "Forest Pearson"),
        Measure("forest.low", "Forest similarity, lower end of the interval", better=None),
        Measure("forest.high", "Forest similarity, upper end of the interval", better=None),
        Measure("forest.error", "Forest similarity, error of other trees", better="lower"),
        *_correlations("forest.shared", "Forest similarity, not corrected", "Forest, plain"),
        Measure("forest.reliability.first", "Reliability, first set"),
        Measure("forest.reliability.second", "Reliability, second set"),
        Measure("scale", "Forest similarity among the closest pairs", "Closest pairs"),
        Measure("neighbors.shared", "Neighbours shared", unit="percent"),
        Measure("cka", "Linear CKA"),
        Measure("rsa", "RSA, Spearman of distances", "RSA"),
        Measure("entanglement", "Entanglement, untangled", better="lower"),
        Measure("fowlkes_mallows", "Fowlkes-Mallows"),
        *_correlations("lca", "LCA similarity", "LCA"),
        Measure(
            "cophenetic.d1_to_p2",
            "Cophenetic similarity, first tree to second distances",
            "cophenetic D1 to P2",
            "D1 to P2",
        ),
        Measure(
            "cophenetic.d2_to_p1",
            "Cophenetic similarity, second tree to first distances",
            "cophenetic D2 to P1",
            "D2 to P1",
        ),
        Measure("majority", "Largest class alone", "Largest class", unit="percent", better=None),
        Measure("knn", "k-NN accuracy", "k-NN", unit="percent"),
        Measure("probe", "Linear probe accuracy", "Linear probe", unit="percent"),
        Measure("rand", "Rand index", caveat=_RAND_CAVEAT),
        Measure("rand_by_chance", "Rand index by chance", "  by chance", better=None),
        Measure("ari", "Adjusted Rand index", "Adjusted Rand"),
        Measure("nmi", "Normalised mutual information", "NMI"),
        *_correlations("class_tree", "Single class tree", "Class tree", caveat=_CLASS_TREE_CAVEAT),
        Measure("label_free.rankme", "RankMe", better=None),
        Measure("label_free.alpha_req", "alpha-ReQ", better=None),
        Measure("label_free.uniformity", "Uniformity", better=None),
        Measure("label_free.alignment", "Alignment", better=None),
    )
}


def _problem(found: Any, name: str) -> str | None:
    if not isinstance(found, OwnMeasure):
        return f"is a {type(found).__name__}, not a sag_vicreg.scores.OwnMeasure"
    if found.key != name:
        return f"has the key '{found.key}'"
    if not (callable(found.of_set) or callable(found.of_pair)):
        return "has neither a function of_set nor a function of_pair"
    return None


MEASURE_PLUGINS: Plugins[OwnMeasure] = Plugins("measure", MEASURES, _problem)
"""Measures of other packages."""

FOREST = "forest.spearman"
"""The corrected forest similarity, by which two sets are compared first."""
LCA = ("lca.pearson", "lca.spearman", "lca.kendall")
COPHENETIC = ("cophenetic.d1_to_p2", "cophenetic.d2_to_p1")
PAPERS_FIVE = (*LCA, *COPHENETIC)
"""The paper's numbers of two sets, each of a single tree per set."""
NEARBY = ("neighbors.shared", "cka")
BY_LEVEL = ("knn", "probe", "rand", "ari", "nmi")
BY_CLUSTERS = ("rand", "ari")

_PLACED = re.compile(r"(\w+)\.(level|clusters|closest)([\d.]+)$")


def measure_of(key: str) -> Measure:
    """Look up the entry of a flat key; KeyError where neither we nor another package has it.

    Examples
    --------
    >>> measure_of("knn.level2").title, measure_of("lca.kendall").short
    ('k-NN accuracy', 'LCA Kendall')
    """
    placed = _PLACED.match(key)
    measure = placed[1] if placed else key
    found = MEASURES.get(measure) or MEASURE_PLUGINS.find(measure)
    if found is None:
        raise KeyError(key)
    return found


def own_measures(names: Iterable[str], of: Literal["set", "pair"]) -> tuple[OwnMeasure, ...]:
    """Find measures of other packages by name, each once; refuse those that are not ``of`` this."""
    measures = []
    for name in dict.fromkeys(names):
        if name in MEASURES:
            raise InputError(f"measure {name} is built in: leave it out, it needs no asking for")
        found = MEASURE_PLUGINS.find(name)
        if found is None:
            brought = MEASURE_PLUGINS.names() or ("none, as no installed package brings one",)
            raise unknown_name("measure", name, brought)
        if getattr(found, f"of_{of}") is None:
            other = "compare" if of == "set" else "evaluate"
            raise InputError(f"measure {name} belongs to `sag-vicreg {other}`: ask for it there")
        measures.append(found)
    return tuple(measures)


def titles(keys: Iterable[str], style: Literal["title", "short", "heading"]) -> dict[str, str]:
    """Return how each key is written, in the given order."""
    return {key: getattr(measure_of(key), style) for key in keys}


def is_forest(key: str) -> bool:
    """Whether a flat key is a score of forests."""
    return key.startswith("forest.")


def at_level(measure: str, level: int) -> str:
    """Return the key of a measure at one level of a class tree, 1 the coarsest."""
    return f"{measure}.level{level}"


def at_clusters(measure: str, count: int) -> str:
    """Return the key of a measure at one number of clusters."""
    return f"{measure}.clusters{count}"


def at_closest(share: float) -> str:
    """Return the key of the similarity among the closest ``share`` of pairs."""
    return f"scale.closest{100 * share:g}"


def by_level(measure: str, values: Iterable[float]) -> dict[str, float]:
    """Name values by level, the coarsest first.

    Examples
    --------
    >>> by_level("knn", [0.9, 0.5])
    {'knn.level1': 0.9, 'knn.level2': 0.5}
    """
    return {at_level(measure, level): float(value) for level, value in enumerate(values, start=1)}


def places(scores: Iterable[str], measure: str, by: Literal["level", "clusters"]) -> dict[int, str]:
    """Return the levels or numbers of clusters at which ``scores`` has a measure, with the keys.

    Examples
    --------
    >>> places(["knn.level2", "rand.level1", "knn.level1"], "knn", "level")
    {1: 'knn.level1', 2: 'knn.level2'}
    """
    found = (match for key in scores if (match := _PLACED.match(key)))
    return dict(sorted((int(m[3]), m[0]) for m in found if (m[1], m[2]) == (measure, by)))


def closest(scores: Iterable[str]) -> dict[float, str]:
    """Return for which percents of pairs ``scores`` has :func:`at_closest`, with the keys."""
    found = (match for key in scores if (match := _PLACED.match(key)))
    return dict(sorted((float(m[3]), m[0]) for m in found if m[2] == "closest"))


def best(values: Mapping[str, float], key: str, *, digits: int | None = None) -> set[str]:
    """Return the names whose value of a score is the best; none where it describes only.

    ``digits`` counts as equal what reads the same.
    """
    better = measure_of(key).better
    if better is None or not values:
        return set()
    read = {
        name: value if digits is None else round(value, digits) for name, value in values.items()
    }
    extreme = (max if better == "higher" else min)(read.values())
    return {name for name, value in read.items() if value == extreme}


@dataclass(frozen=True)
class Spread:
    """Mean and deviation of a score over random halves of the items: no confidence interval."""

    mean: float
    deviation: float

    def unsettles(self, score: float) -> bool:
        """Whether the halves move a single-tree score too far.

        Either they differ from one another, or the tree of all items happens to differ from theirs.

        Examples
        --------
        >>> Spread(0.43, 0.12).unsettles(0.44), Spread(0.97, 0.01).unsettles(0.98)
        (True, False)
        """
        return max(self.deviation, abs(score - self.mean)) > UNSTABLE


@dataclass(frozen=True)
class Score:
    """A mean over seeds, its deviation where there is more than one, and how many there are.

    ``runs`` is None where nobody says how many there were, as in the paper's own tables.
    """

    mean: float
    deviation: float | None = None
    runs: int | None = None

    @classmethod
    def of(cls, values: Sequence[float]) -> "Score | None":
        """Mean and sample deviation of ``values``; None of nothing.

        Examples
        --------
        >>> Score.of([0.25, 0.75])
        Score(mean=0.5, deviation=0.3535533905932738, runs=2)
        """
        if not values:
            return None
        mean = math.fsum(values) / len(values)
        if len(values) == 1:
            return cls(mean, None, 1)
        squares = math.fsum((value - mean) ** 2 for value in values)
        return cls(mean, math.sqrt(squares / (len(values) - 1)), len(values))


def averages(seeds: Sequence[Mapping[str, float]]) -> dict[str, Score]:
    """Average every score that all seeds have."""
    each = {
        key: Score.of([scores[key] for scores in seeds])
        for key in seeds[0]
        if all(key in scores for scores in seeds)
    }
    return {key: score for key, score in each.items() if score is not None}


def without_nan(content: Mapping[str, Any]) -> dict[str, Any]:
    """Put None in the place of NaN, which JSON does not have.

    Examples
    --------
    >>> without_nan({"pearson": math.nan, "interval": (0.5, math.nan)})
    {'pearson': None, 'interval': [0.5, None]}
    """

    def known(value: Any) -> Any:
        if isinstance(value, Mapping):
            return without_nan(value)
        if isinstance(value, list | tuple):
            return [known(each) for each in value]
        return None if isinstance(value, float) and math.isnan(value) else value

    return {key: known(value) for key, value in content.items()}
