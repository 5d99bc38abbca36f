"""The gate: may NEW take the place of OLD? Pass, fail or undecided, by one score."""

from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

from sag_vicreg.decisions.floor import Floor, Limit
from sag_vicreg.decisions.rule import Outcome, Rule
from sag_vicreg.decisions.settings import Settings, check_same_rows, check_tolerance
from sag_vicreg.errors import InputError
from sag_vicreg.structure import (
    Forest,
    ForestSimilarity,
    Movements,
    forest_similarity,
    linear_cka,
    movements,
    mutual_neighbors,
)

TOLERANCE = 0.02
NEIGHBORS = 10
# A floor of so much more items than these sets have would be of narrower scores.
_FEWER = 0.9


@dataclass(frozen=True)
class Decision:
    """What :func:`gate` decided, and the numbers it informs by.

    Attributes
    ----------
    outcome
        ``"pass"``, ``"fail"`` or ``"undecided"``; ``exit_code`` is 0, 1 or 3.
    reason
        One sentence.
    threshold
        The score the decision turns on: 1 - tolerance, or the lowest of the floor.
    tolerance, limit
        What the threshold came from; one of them is None.
    similarity
        The corrected forest similarity decides; all else it holds informs.
    neighbors_shared, cka
        Mean share of the 10 nearest items that both sets name, and linear CKA.
    items_needed
        How many items would decide, estimated; None where it is decided or nothing would.
    caution
        What a pass does not say; empty where there is nothing to add.
    names, settings
        What was compared, and how.
    """

    outcome: Outcome
    reason: str
    threshold: float
    tolerance: float | None
    limit: Limit | None
    similarity: ForestSimilarity
    neighbors_shared: float
    cka: float
    items_needed: int | None
    caution: str
    names: tuple[str, str]
    settings: Settings
    forests: tuple[Forest, Forest] = field(repr=False, compare=False)

    @cached_property
    def moved(self) -> Movements:
        """What moved; computed when first asked for."""
        return movements(*self.forests)

    @property
    def exit_code(self) -> int:
        """What ``sag-vicreg gate`` exits with."""
        return {"pass": 0, "fail": 1, "undecided": 3}[self.outcome]

    @property
    def sentence(self) -> str:
        """The verdict in one sentence, the outcome first."""
        return f"{self.outcome.upper()}: {self.reason}"

    @property
    def basis(self) -> str:
        """What the decision rests on: how many items, and where the threshold is from."""
        found = self.similarity
        sample = f" sampled of {found.n:,}" if found.items < found.n else ""
        rule = (
            f"tolerance {self.tolerance:g}"
            if self.limit is None
            else f"floor {self.threshold:.4f}, {self.limit.sentence()}"
        )
        return f"decided on {found.items:,} items{sample}, {found.trees} trees; {rule}"

    def rows(self) -> list[tuple[str, str]]:
        """Return the table below the verdict: what is measured, and its value."""
        found = self.similarity
        low, high = found.interval
        return [
            ("forest similarity, which decides", f"{found.spearman:.4f}"),
            ("  95 % interval, other items", f"{low:.4f} to {high:.4f}"),
            ("  standard error, other trees", f"{found.error:.4f}"),
            ("threshold", f"{self.threshold:.4f}"),
            *(
                (f"closest {scale.share:.1%} of pairs", f"{scale.similarity:.4f}")
                for scale in found.by_scale
            ),
            (f"{NEIGHBORS} nearest neighbours shared", f"{self.neighbors_shared:.1%}"),
            ("linear CKA", f"{self.cka:.4f}"),
        ]

    def scores(self) -> dict[str, Any]:
        """Return the outcome and the scores that lists of decisions show."""
        return {
            "outcome": self.outcome,
            "score": self.similarity.spearman,
            "interval": list(self.similarity.interval),
            "neighbors_shared": self.neighbors_shared,
        }

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        return {
            "outcome": self.outcome,
            "sentence": self.sentence,
            "basis": self.basis,
            "caution": self.caution,
            "threshold": self.threshold,
            "tolerance": self.tolerance,
            "limit": None if self.limit is None else asdict(self.limit),
            "items_needed": self.items_needed,
            "forest": self.similarity.to_dict(),
            "neighbors_shared": self.neighbors_shared,
            "cka": self.cka,
            "names": list(self.names),
            "settings": asdict(self.settings),
        }

    def _repr_html_(self) -> str:
        from sag_vicreg.decisions.formats import decision_html

        return decision_html(self)


def gate(
    old: Any,
    new: Any,
    *,
    tolerance: float | None = None,
    floor: Floor | None = None,
    settings: Settings | None = None,
    names: tuple[str, str] = ("old", "new"),
    sampled_of: int | None = None,
) -> Decision:
    """Decide whether ``new`` keeps the structure of ``old``.

    Parameters
    ----------
    old, new
        Shapes (n, d) and (n, e), row i of both standing for item i; n of 50 or more.
    tolerance
        How much of the forest similarity may be lost, 0.02 by default: a test of non-inferiority
        that passes where the 95 percent interval lies above 1 - tolerance, fails where it lies
        below, and is undecided else.
    floor
        From :func:`calibrate`, in place of a tolerance: fails where the score is below the floor.
    settings
        How forests are grown; by default those of the floor.
    names
        What to call the two sets.
    sampled_of
        How many items there are, where these are a random sample already.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.random.default_rng(0).normal(size=(60, 4))
    >>> gate(x, 2 * x).outcome
    'pass'
    """
    if tolerance is not None and floor is not None:
        raise InputError("a tolerance and a floor are two rules: give one of them")
    tolerance = TOLERANCE if tolerance is None else tolerance
    check_tolerance(tolerance)
    settings = settings or (Settings() if floor is None else floor.settings)
    check_same_rows([len(old), len(new)], list(names))
    if floor is not None:
        _check_alike(floor.settings, settings)
    rows = len(old) if sampled_of is None else sampled_of
    forests = (
        replace(settings.grow(old, names[0]), n_rows=rows),
        replace(settings.grow(new, names[1]), n_rows=rows),
    )
    if floor is not None and forests[0].n < _FEWER * floor.items:
        raise InputError(
            f"the floor is of {floor.items:,} items and these sets have {forests[0].n:,}: scores "
            f"of fewer items vary more; calibrate anew with --items {forests[0].n}"
        )
    return decide(
        *forests,
        tolerance=tolerance,
        limit=None if floor is None else floor.limit(old, new),
        settings=settings,
        names=names,
    )


def decide(
    forest_old: Forest,
    forest_new: Forest,
    *,
    tolerance: float = TOLERANCE,
    limit: Limit | None = None,
    settings: Settings,
    names: tuple[str, str] = ("old", "new"),
) -> Decision:
    """Decide by two forests grown over the same items with ``settings``; see :func:`gate`."""
    found = forest_similarity(forest_old, forest_new)
    rule = (
        Rule(1 - tolerance, by_interval=True)
        if limit is None
        else Rule(limit.score, by_interval=False)
    )
    return Decision(
        outcome=rule.outcome(found),
        reason=rule.reason(found),
        threshold=rule.threshold,
        tolerance=tolerance if limit is None else None,
        limit=limit,
        similarity=found,
        neighbors_shared=mutual_neighbors(
            forest_old.points, forest_new.points, k=min(NEIGHBORS, forest_old.n - 1)
        ),
        cka=linear_cka(forest_old.points, forest_new.points),
        items_needed=rule.items_needed(found),
        caution=rule.caution(found),
        names=names,
        settings=settings,
        forests=(forest_old, forest_new),
    )


def _check_alike(made: Settings, asked: Settings) -> None:
    """Refuse other settings than those a floor was made with."""
    for name, theirs in asdict(made).items():
        ours = getattr(asked, name)
        if ours != theirs:
            raise InputError(
                f"the floor was made with {name} {theirs}, and {name} {ours} is asked for: leave "
                "the option out, or calibrate anew with it"
            )
