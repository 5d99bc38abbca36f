"""Who contends in the study of the walk, and what is measured of each.

`docs/study.md` says what is compared and by which rule. Models are those of tables 1 and 2, one per
half of the classes. Selection looks at training images of the first half, which no table uses;
confirmation at test images.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from replication.stages import DATASET, STEPS
from sag_vicreg.artifacts import Result
from sag_vicreg.errors import InputError
from sag_vicreg.recipes import Recipe
from sag_vicreg.reproduce import (
    DECLARATIONS,
    OPTIONS,
    PUBLISHED_IMAGES,
    UNWATCHED,
    Evaluation,
    ImageSet,
    chosen_rate,
    evaluation,
    search_evaluations,
)

SEEDS = (10, 11)
# Structure is looked at over the images whose embeddings are published.
SELECTION_IMAGES = ImageSet(DATASET, "first", "train")

# Around the own view, mean over 300 steps of the first half at a base rate of 1.3, seed 0: share of
# rows that walk, and weight of those that do. `docs/study.md` has the run.
WALKING = 0.286
WALKING_WEIGHT = 0.169
MEAN_WEIGHT = 0.762

_OWN_VIEW = ("method.around=own_view", "method.scale_over=neighbors", "method.walk_after=0")
_CROSSED = ("method.crossed=true", "method.scale_over=neighbors", "method.walk_after=0")


@dataclass(frozen=True)
class Contender:
    """One row of the study: a packaged recipe, what is changed in it, and what it is there for.

    A ``candidate`` can be chosen; a ``control`` has to be beaten; a point of VICReg's own ``curve``
    is trained at VICReg's learning rate, without a search of its own.
    """

    title: str
    method: str
    overrides: tuple[str, ...] = ()
    role: Literal["baseline", "candidate", "control", "literal", "curve"] = "candidate"


# In the order in which results are wanted.
CONTENDERS = {
    "vicreg": Contender("VICReg", "vicreg", role="baseline"),
    "own-view": Contender("around the own view", "sag-vicreg-literal", _OWN_VIEW),
    "crossed": Contender("crossed", "sag-vicreg-literal", _CROSSED),
    "scaled": Contender(
        "control: VICReg, invariance scaled",
        "vicreg",
        (f"method.invariance_weight={25 * MEAN_WEIGHT:g}",),
        role="control",
    ),
    "random": Contender(
        "control: random partners",
        "sag-vicreg-literal",
        (
            "method.partners=random",
            f"method.walk_share={WALKING}",
            f"method.partner_weight={WALKING_WEIGHT}",
            "method.walk_after=0",
        ),
        role="control",
    ),
    "crossed-half": Contender(
        "crossed, half of the rows", "sag-vicreg-literal", (*_CROSSED, "method.walk_share=0.5")
    ),
    "crossed-representation": Contender(
        "crossed, neighbours in the representation",
        "sag-vicreg-literal",
        (*_CROSSED, "method.neighbors_in=representation"),
    ),
    "stay-home": Contender(
        "stays home unless the own view is nearest",
        "sag-vicreg-literal",
        ("method.stay_home=true", "method.scale_over=neighbors", "method.walk_after=0"),
    ),
    "memory": Contender(
        "around the own view, memory of 4,000",
        "sag-vicreg-literal",
        (*_OWN_VIEW, "method.memory=4000"),
    ),
    "literal": Contender("the literal reading", "sag-vicreg-literal", role="literal"),
    **{
        f"invariance-{weight:g}": Contender(
            f"VICReg, invariance weight {weight:g}",
            "vicreg",
            (f"method.invariance_weight={weight:g}",),
            role="curve",
        )
        for weight in (5, 10, 50)
    },
}
SCREENED = [n for n, c in CONTENDERS.items() if c.role in ("baseline", "candidate", "control")]


@dataclass(frozen=True)
class Plan:
    """What is measured of a contender's two models of one seed.

    Attributes
    ----------
    structure
        Over the training images of the first half, the five scores over 20 halves of them.
    selection
        Of either model, k-NN among the same.
    test
        Structure over the test images of the first half, the five scores over 20 halves of them.
    tables
        The same as tables 1 and 2 have it.
    levels
        Of either model, k-NN and probe by level on the classes it has seen.
    """

    structure: Evaluation
    selection: tuple[Evaluation, Evaluation]
    test: Evaluation
    tables: Evaluation
    levels: tuple[Evaluation, Evaluation]

    @property
    def recipes(self) -> tuple[Recipe, ...]:
        """The two models."""
        return self.structure.recipes

    def evaluations(self, *, test: bool = False) -> list[Evaluation]:
        """List what screening needs, and with ``test`` what confirmation needs as well."""
        planned = [self.structure, *self.selection]
        return [*planned, self.tables, self.test, *self.levels] if test else planned


def trials(name: str) -> list[Evaluation]:
    """Plan a contender's learning-rate search, the replication's own."""
    contender = CONTENDERS[name]
    overrides = () if contender.role == "curve" else contender.overrides
    return search_evaluations(DATASET, [contender.method], overrides)


def plan(name: str, seed: int, results: Mapping[str, Result], *, steps: int = STEPS) -> Plan:
    """Plan what is measured of a contender's two models, given its search."""
    contender = CONTENDERS[name]
    searched = () if contender.role == "curve" else contender.overrides
    rate = chosen_rate(DATASET, contender.method, results, searched)
    if rate is None:
        raise InputError(f"the learning-rate search of {name} is unfinished")
    tables = evaluation(
        "structure",
        DECLARATIONS["table1"].settings[DATASET],
        contender.method,
        scale="cpu",
        seed=seed,
        overrides=[
            *contender.overrides,
            f"optimizer.base_lr={rate}",
            f"schedule.steps={steps}",
            UNWATCHED,
        ],
    )
    first, second = tables.recipes
    twenty = OPTIONS["structure"] | {"half_samples": 20}

    def of_one(kind: str, recipe: Recipe, images: ImageSet) -> Evaluation:
        return replace(tables, kind=kind, recipes=(recipe,), images=images, options=OPTIONS[kind])

    def seen(recipe: Recipe) -> ImageSet:
        return ImageSet(DATASET, str(recipe.dataset.classes), "test")

    return Plan(
        structure=replace(
            tables, images=SELECTION_IMAGES, options=twenty | {"max_images": PUBLISHED_IMAGES}
        ),
        selection=(
            of_one("selection", first, SELECTION_IMAGES),
            of_one("selection", second, SELECTION_IMAGES),
        ),
        test=replace(tables, options=twenty),
        tables=tables,
        levels=(of_one("levels", first, seen(first)), of_one("levels", second, seen(second))),
    )
