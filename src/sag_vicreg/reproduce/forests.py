"""Forest similarity of two models: over the images whose embeddings are published.

The vectors are rounded to float16 first, as they are published: whoever has the two files gets the
same scores as whoever has the two models.
"""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

from sag_vicreg.artifacts import Embeddings, Result, as_half, join
from sag_vicreg.reproduce.embedding import known_embeddings
from sag_vicreg.reproduce.plan import Evaluation, evaluation_of
from sag_vicreg.reproduce.store import Store


def forest_scores(
    first: Embeddings, second: Embeddings, *, geometry: str, forest: Mapping[str, Any]
) -> dict[str, float]:
    """Return the scores of two models' forests, flat; none where the images are too few.

    Parameters
    ----------
    first, second
        Embeddings of the same images, matched by id.
    geometry
        Of the trees.
    forest
        ``trees`` and ``distance``, as :func:`~sag_vicreg.structure.ward_forest` takes them.
    """
    from sag_vicreg.structure import forest_similarity, ward_forest
    from sag_vicreg.structure.forest import FEWEST_ROWS

    first, second = join([first, second], ("the first model", "the second model")).sets
    if len(first) < FEWEST_ROWS:
        return {}
    return forest_similarity(
        *(
            ward_forest(
                as_half(each.vectors),
                geometry=geometry,
                trees=forest["trees"],
                distance=forest["distance"],
            )
            for each in (first, second)
        )
    ).flat()


def lacks_forest(planned: Evaluation, result: Result) -> bool:
    """Whether a result was made without the forest its evaluation asks for."""
    wanted = planned.options.get("forest")
    return wanted is not None and result.failure is None and result.options.get("forest") != wanted


def trained_once(planned: Evaluation, result: Result, known: Iterable[Result]) -> bool:
    """Whether all that is known of a result's models was measured on one training of each.

    A training that is repeated on another machine is rounded otherwise and ends in other weights:
    its embeddings have the recipe's address, but are not of the models the result is of.
    """
    digests = (recipe.digest() for recipe in planned.recipes)
    measured = dict(zip(digests, result.measures, strict=False))
    for other in known:
        with suppress(ValueError):  # of a recipe that no version trains any more
            for recipe, measures in zip(evaluation_of(other).recipes, other.measures, strict=False):
                if measured.get(recipe.digest(), measures) != measures:
                    return False
    return True


def complete_forests(
    evaluations: Iterable[Evaluation],
    store: Store,
    note: Callable[[str], None] = lambda line: None,
) -> None:
    """Add forest scores to finished results that lack them, wherever their embeddings are at hand.

    Nothing is trained for it. The completed result has the address it had and goes into the store's
    own folder.
    """
    known = store.results()
    for planned in {e.key: e for e in evaluations}.values():
        result = known.get(planned.key)
        if result is None or not lacks_forest(planned, result):
            continue
        first, second = (known_embeddings(r, planned.images, store) for r in planned.recipes)
        if first is None or second is None or not trained_once(planned, result, known.values()):
            continue
        geometry, forest = planned.options["geometry"], planned.options["forest"]
        scores = forest_scores(first, second, geometry=geometry, forest=forest)
        result.with_forest(scores, forest).write(store.results_folder)
        note(f"done: forest of {planned.label}")
