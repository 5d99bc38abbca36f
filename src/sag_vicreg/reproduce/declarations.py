"""Every table and figure of the paper that stands on training, declared.

A declaration says which methods a table has, what their models train on, which images they embed
and which scores are printed. Nothing here runs: :mod:`sag_vicreg.reproduce.plan` turns a
declaration into models to train and evaluations of them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sag_vicreg.errors import InputError, check_name
from sag_vicreg.recipes import DATASET_LABELS
from sag_vicreg.scores import (
    CLUSTER_COUNTS,
    COPHENETIC,
    FOREST,
    LCA,
    at_clusters,
    at_level,
    measure_of,
    titles,
)

INVARIANCE = ("simclr", "barlow-twins", "vicreg", "sag-vicreg")
ON_VIT = ("vicreg-vit", "dino", "mae", "i-jepa", "sag-vicreg-vit")


@dataclass(frozen=True)
class TrainingSet:
    """What one model trains on: a dataset, and ``all``, ``first`` or ``second`` of its classes."""

    dataset: str
    classes: str = "all"


@dataclass(frozen=True)
class ImageSet:
    """The images that are embedded. ``test`` is held out from every training set."""

    dataset: str
    classes: str = "all"
    split: str = "test"


@dataclass(frozen=True)
class Setting:
    """One group of columns: the models behind each row (one or two) and the images they embed."""

    name: str
    heading: str
    trained_on: tuple[TrainingSet, ...]
    images: ImageSet


@dataclass(frozen=True)
class Declaration:
    """One table, or one figure that plots a table."""

    name: str
    title: str
    evaluation: str
    scores: Mapping[str, str]
    settings: Mapping[str, Setting]
    methods: tuple[str, ...] = INVARIANCE
    default: str = "cifar100"
    beside: Mapping[str, str] = field(default_factory=dict)
    """Scores of ours that the paper does not have; printed before its own."""

    @property
    def percent(self) -> bool:
        """Whether the scores are read in percent."""
        return measure_of(next(iter(self.scores))).unit == "percent"

    @property
    def columns(self) -> dict[str, str]:
        """Every score that is printed, with its heading."""
        return {**self.beside, **self.scores}

    def choose(
        self, datasets: Sequence[str] = (), pretrain: Sequence[str] = (), images: str = "test"
    ) -> list[Setting]:
        """Return the settings a user asks for, in the order asked; the default if none is named.

        ``pretrain`` names training sets of tables 4 and 5 (``cifar100``, ``imagenet1k``), where
        the evaluated dataset stays the same; everywhere else ``datasets`` names the settings.
        """
        check_name("choice of --images", images, ("test", "train"))
        if images == "train" and self.evaluation == "levels":
            raise InputError(
                f"{self.name} classifies test images by training images: --images train belongs "
                "to table1, table2, table3, fig4a and fig4b"
            )
        if pretrain and self.evaluation == "structure":
            raise InputError(
                f"{self.name} trains and evaluates on the same dataset: use --dataset, "
                "--pretrain belongs to table4, table5, fig4a and fig4b"
            )
        names = list(pretrain) or list(datasets) or [self.default]
        for name in names:
            check_name(f"dataset for {self.name}", name, self.settings)
        chosen = [self.settings[name] for name in names]
        for setting in chosen:
            if pretrain and datasets and setting.images.dataset not in datasets:
                raise InputError(
                    f"{self.name} with --pretrain {setting.name} is evaluated on "
                    f"{setting.images.dataset}, not on {', '.join(datasets)}: drop --dataset"
                )
        return [replace(s, images=replace(s.images, split=images)) for s in chosen]

    def choose_methods(self, methods: Sequence[str] = ()) -> tuple[str, ...]:
        """Return the methods a user asks for, in the table's own order; all of them if none."""
        for method in methods:
            check_name(f"method for {self.name}", method, self.methods)
        return tuple(m for m in self.methods if not methods or m in methods)


def _halves(dataset: str) -> Setting:
    """Two models, one per half of the classes; both embed images of the first half."""
    return Setting(
        dataset,
        DATASET_LABELS[dataset],
        (TrainingSet(dataset, "first"), TrainingSet(dataset, "second")),
        ImageSet(dataset, "first"),
    )


def _pretrained(trained_on: str, evaluated_on: str) -> Setting:
    """One model, trained on everything."""
    return Setting(
        trained_on,
        f"trained on {DATASET_LABELS[trained_on]}",
        (TrainingSet(trained_on),),
        ImageSet(evaluated_on),
    )


FORESTS = titles((FOREST, "forest.pearson"), "short")
_HALVES = {d: _halves(d) for d in ("imagenet100", "cifar100", "caltech256", "shapes")}
# Appendix "Data": the two training sets of table 3 are different datasets, not two halves. The
# `shapes` setting rehearses the same commands without any download.
_ACROSS = {
    "cifar100": Setting(
        "cifar100",
        DATASET_LABELS["cifar100"],
        (TrainingSet("cifar100", "first"), TrainingSet("caltech256", "first")),
        ImageSet("cifar100", "first"),
    ),
    "shapes": _halves("shapes"),
}
_PRETRAINED = {
    "cifar100": _pretrained("cifar100", "cifar100"),
    "imagenet1k": _pretrained("imagenet1k", "cifar100"),
    "shapes": _pretrained("shapes", "shapes"),
}


def _by_level(measure: str) -> dict[str, str]:
    return {at_level(measure, level): f"Level {level}" for level in (1, 2, 3, 4)}


def _of_two_models(name: str, title: str, keys: Sequence[str], **options: Any) -> Declaration:
    return Declaration(
        name,
        title,
        "structure",
        titles(keys, "heading"),
        **{"settings": _HALVES, "beside": FORESTS, **options},
    )


DECLARATIONS = {
    declaration.name: declaration
    for declaration in (
        _of_two_models(
            "table1",
            "LCA similarity between models trained on the first and on the second half",
            LCA,
        ),
        _of_two_models(
            "table2",
            "Cophenetic similarity between models trained on the first and the second half",
            COPHENETIC,
        ),
        _of_two_models(
            "table3",
            "LCA similarity on ViT between models trained on two datasets",
            LCA,
            methods=ON_VIT,
            settings=_ACROSS,
        ),
        Declaration(
            "table4",
            "k-NN accuracy by level of the class hierarchy, in percent",
            "levels",
            _by_level("knn"),
            _PRETRAINED,
        ),
        Declaration(
            "table5",
            "Linear-probe accuracy by level of the class hierarchy, in percent",
            "levels",
            _by_level("probe"),
            _PRETRAINED,
        ),
        Declaration(
            "fig4a",
            "Rand index by level, as many clusters as the level has classes",
            "rand",
            _by_level("rand"),
            _PRETRAINED,
        ),
        Declaration(
            "fig4b",
            "Rand index at the finest level by number of clusters",
            "rand",
            {at_clusters("rand", count): str(count) for count in CLUSTER_COUNTS},
            _PRETRAINED,
        ),
    )
}


def declaration(name: str) -> Declaration:
    """Look a table or figure up by name."""
    check_name("table or figure", name, DECLARATIONS)
    return DECLARATIONS[name]
