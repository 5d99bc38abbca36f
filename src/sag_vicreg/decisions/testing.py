"""The gate inside other people's tests and searches."""

from collections.abc import Callable
from typing import Any

from sag_vicreg.decisions.floor import Floor
from sag_vicreg.decisions.gate import gate
from sag_vicreg.decisions.moved import Naming, moved_lines
from sag_vicreg.decisions.settings import Settings
from sag_vicreg.errors import InputError
from sag_vicreg.structure.corrected import corrected_score
from sag_vicreg.structure.movements import Names
from sag_vicreg.structure.points import as_vectors


def assert_same_structure(
    old: Any,
    new: Any,
    *,
    tolerance: float | None = None,
    floor: Floor | None = None,
    settings: Settings | None = None,
    ids: Names | None = None,
    labels: Names | None = None,
) -> None:
    """Assert that ``new`` keeps the structure of ``old``, and say what moved where it does not.

    Undecided is not the same: give more items or a larger tolerance. Options are those of
    :func:`gate`; ``ids`` and ``labels`` name items in the message.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.random.default_rng(0).normal(size=(60, 4))
    >>> assert_same_structure(x, 2 * x)
    """
    decision = gate(old, new, tolerance=tolerance, floor=floor, settings=settings)
    if decision.outcome != "pass":
        raise AssertionError(
            "\n".join((decision.sentence, *moved_lines(decision.moved, Naming(ids, labels))))
        )


def structure_scorer(
    reference: Any, *, settings: Settings | None = None
) -> Callable[[Any, Any, Any], float]:
    """Return a scorer for scikit-learn's searches: how much of a set's structure a model keeps.

    The scorer calls ``model.transform(X)`` and returns the corrected forest similarity of what
    comes out to ``reference``: 1 is best. ``reference`` is an array with a row for each row of X,
    or a function from X to such an array, which suits folds that split X.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.decomposition import PCA
    >>> x = np.random.default_rng(0).normal(size=(60, 8)) * np.arange(1, 9)
    >>> score = structure_scorer(lambda rows: rows)
    >>> score(PCA(7).fit(x), x) > score(PCA(2).fit(x), x)
    True
    """
    settings = settings or Settings()

    def score(model: Any, x: Any, y: Any = None) -> float:
        wanted = as_vectors(reference(x) if callable(reference) else reference, "reference")
        found = as_vectors(model.transform(x), "transformed")
        if len(wanted) != len(found):
            raise InputError(
                f"the reference has {len(wanted)} rows and the fold {len(found)}: give a function "
                "from X to its reference, such as `lambda X: X`"
            )
        return corrected_score(
            settings.grow(wanted, "reference"), settings.grow(found, "transformed")
        )

    return score
