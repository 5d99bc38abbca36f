"""Who contends in the study of the walk, and what is measured of each.

`docs/study.md` says what is compared and by which rule. Models are those of tables 1 and 2, one per
half of the classes. Selection looks at training images of the first half, which no table uses;
confirmation at test images.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
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

# Mean weight of a pair around the own view, over 300 steps of the first half at a base rate of 1.3,
# seed 0. `docs/study.md` has the run.
MEAN_WEIGHT = 0.762

# The pull is the invariance weight times the mean weight of a pair. The second round compares at
# the pull at which VICReg's curve by invariance weight has its highest k-NN.
PULL = 10

_OWN_VIEW = ("method.around=own_view", "method.scale_over=neighbors", "method.walk_after=0")


@dataclass(frozen=True)
class Contender:
    """One row of the study: a packaged recipe, what is changed in it, and what it is there for.

    A ``candidate`` can be chosen; a ``control`` has to be beaten, as the ``baseline`` has to be; a
    point of VICReg's own ``curve`` is trained at VICReg's learning rate, without a search of its
    own. A ``rejected`` row has left the package with its options: what remains are its results,
    found by what their recipes say of the options that are gone (:mod:`replication.measured`).
    """

    title: str
    method: str
    overrides: tuple[str, ...] = ()
    role: Literal["baseline", "candidate", "control", "literal", "curve"] = "candidate"
    round: Literal[1, 2] = 1
    rejected: Mapping[str, object] = field(default_factory=dict)


# In the order in which results are wanted.
CONTENDERS = {
    "vicreg": Contender("VICReg", "vicreg", role="baseline"),
    "own-view": Contender("around the own view", "sag-vicreg-literal", _OWN_VIEW),
    "crossed": Contender("crossed", "sag-vicreg-literal", rejected={"crossed": True}),
    "scaled": Contender(
        "control: VICReg, invariance scaled",
        "vicreg",
        (f"method.invariance_weight={25 * MEAN_WEIGHT:g}",),
        role="control",
    ),
    "random": Contender(
        "control: random partners",
        "sag-vicreg-literal",
        role="control",
        rejected={"partners": "random", "walk_share": 0.286, "partner_weight": 0.169},
    ),
    "crossed-half": Contender(
        "crossed, half of the rows",
        "sag-vicreg-literal",
        rejected={"crossed": True, "walk_share": 0.5},
    ),
    "crossed-representation": Contender(
        "crossed, neighbours in the representation",
        "sag-vicreg-literal",
        rejected={"crossed": True, "neighbors_in": "representation"},
    ),
    "stay-home": Contender(
        "stays home unless the own view is nearest",
        "sag-vicreg-literal",
        rejected={"stay_home": True},
    ),
    "memory": Contender(
        "around the own view, memory of 4,000",
        "sag-vicreg-literal",
        rejected={"memory": 4000},
    ),
    "literal": Contender("the literal reading", "sag-vicreg-literal", role="literal"),
    "vicreg-10": Contender(
        f"VICReg, pull of {PULL}",
        "vicreg",
        (f"method.invariance_weight={PULL}",),
        round=2,
        role="baseline",
    ),
    "own-view-10": Contender(
        f"around the own view, pull of {PULL}",
        "sag-vicreg-literal",
        (*_OWN_VIEW, f"method.invariance_weight={PULL / MEAN_WEIGHT:.4g}"),
        round=2,
    ),
    "memory-10": Contender(
        f"memory of 4,000, pull of {PULL}",
        "sag-vicreg-literal",
        round=2,
        rejected={"memory": 4000, "invariance_weight": 13.12},
    ),
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
TRAINABLE = [n for n, c in CONTENDERS.items() if not c.rejected]


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
    contender = _trainable(name)
    overrides = () if contender.role == "curve" else contender.overrides
    return search_evaluations(DATASET, [contender.method], overrides)


def plan(name: str, seed: int, results: Mapping[str, Result], *, steps: int = STEPS) -> Plan:
    """Plan what is measured of a contender's two models, given its search."""
    contender = _trainable(name)
    searched = () if contender.role == "curve" else contender.overrides
    rate = chosen_rate(DATASET, contender.method, results, searched)
    if rate is None:
        raise InputError(
            f"the learning-rate search of {name} is unfinished: "
            f"`python -m replication study {name}` first"
        )
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


def _trainable(name: str) -> Contender:
    if CONTENDERS[name].rejected:
        raise InputError(f"{name} was rejected by the study and cannot be trained any more")
    return CONTENDERS[name]
