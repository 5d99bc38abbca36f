"""What a user points at: embedding files and run folders, named and grouped for comparison."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from sag_vicreg.artifacts import (
    ColumnNames,
    Contents,
    EmbeddingFile,
    Embeddings,
    Run,
    Source,
    distinct_names,
    is_dataset_folder,
    read_contents,
    read_embeddings,
    training_file,
)
from sag_vicreg.errors import InputError
from sag_vicreg.hierarchy import Hierarchy, hierarchy_names, load_hierarchy
from sag_vicreg.recipes import Recipe

NO_GROUPS = "none"
"""What a class tree of one level is called, which stands for no class tree at all."""


@dataclass(frozen=True)
class Input:
    """One set of embeddings to evaluate: inputs of one name are seeds of one model."""

    name: str
    test: Path
    train: Path | None
    run: Run | None = None
    """Where its results are kept: of a run folder that was given as such."""
    recipe: Recipe | None = None
    contents: Contents | None = None
    columns: ColumnNames = field(default_factory=ColumnNames)

    @property
    def dataset(self) -> str | None:
        """The dataset whose images these are, where the file or its run says so."""
        if self.contents is not None:
            return self.contents.dataset
        return None if self.recipe is None else self.recipe.dataset.name

    @property
    def model(self) -> Recipe | None:
        """The recipe whatever its seed: that of a model, of which there may be several."""
        return None if self.recipe is None else self.recipe.model_copy(update={"seed": 0})

    def read(self) -> tuple[Embeddings, Embeddings | None]:
        """Return the test set and, where there is one, the training set."""
        columns = asdict(self.columns)
        train = None if self.train is None else read_embeddings(self.train, **columns)
        return read_embeddings(self.test, **columns), train


def open_inputs(
    specs: Sequence[str], train: Sequence[Path] = (), *, columns: Sequence[ColumnNames] = ()
) -> list[Input]:
    """Find the embeddings behind each of ``specs``, ``PATH`` or ``NAME=PATH``.

    A path is an embedding file or a run folder, whose embeddings of its dataset's test split are
    taken, and those of the training split beside them: by what the files say of themselves, not by
    their names. Runs whose recipes differ in nothing but the seed get one name, that of their
    method.

    Parameters
    ----------
    specs
        At least one.
    train
        Training embeddings, one file for each of ``specs`` in their order; none where the run
        folders bring their own.
    columns
        What the columns of each input's files are; what a run folder holds needs no telling.
    """
    if train and len(train) != len(specs):
        raise InputError(
            f"{len(train)} --train for {len(specs)} inputs: give one for each, in the same order"
        )
    given = [_split(spec) for spec in specs]
    opened = [_open(path, with_train=not train) for _, path in given]
    names = _group_names([name for name, _ in given], opened)
    named = list(zip(names, (found.test for found in opened), strict=True))
    for name, test in named:
        if named.count((name, test)) > 1:
            raise InputError(f"{test} is named twice as '{name}': once is enough")
    return [
        replace(
            found,
            name=name,
            train=train[i] if train else found.train,
            columns=columns[i] if columns and found.recipe is None else ColumnNames(),
        )
        for i, (name, found) in enumerate(zip(names, opened, strict=True))
    ]


def find_hierarchy(
    name: str | None, inputs: Sequence[Input], labels: Sequence[np.ndarray | None]
) -> tuple[str, Hierarchy]:
    """Return the class tree to use and what to call it.

    The one asked for; else that of the dataset the files are of; else no groups at all, every
    label that occurs a class of the only level.
    """
    if name is not None:
        return name, load_hierarchy(name)
    datasets = {each.dataset for each in inputs}
    if len(datasets) == 1 and (dataset := datasets.pop()) in hierarchy_names():
        return dataset, load_hierarchy(dataset)
    known = [each for each in labels if each is not None]
    if not known:
        raise InputError(
            f"{inputs[0].test}: there are no labels, and scores by class need one per row: add "
            "them to the file, or name their column by --label-column"
        )
    classes = sorted({str(label) for each in known for label in np.unique(each)})
    return NO_GROUPS, Hierarchy(tuple((each,) for each in classes))


def by_name(embeddings: Embeddings) -> Embeddings:
    """Take whole numbers among the labels for names: without a class tree they index nothing."""
    labels = None if embeddings.labels is None else embeddings.labels.astype(np.str_)
    return Embeddings(embeddings.vectors, embeddings.ids, labels)


def _split(spec: str) -> tuple[str | None, Path]:
    name, equals, path = spec.partition("=")
    if not equals or Path(spec).exists():
        return None, Path(spec)
    if not name or not path:
        raise InputError(f"'{spec}' is neither a path nor NAME=PATH")
    return name, Path(path)


def _open(path: Path, *, with_train: bool) -> Input:
    if path.is_dir() and not is_dataset_folder(path):
        run = Run.open(path)
        return _with_train(run.test_file(), with_train, run, run.read_recipe())
    around = Run(path.parent.parent)
    inside = path.parent == around.embeddings and around.recipe.is_file()
    test = EmbeddingFile(path, read_contents(path) if path.is_file() else None)
    return _with_train(test, with_train, None, around.read_recipe() if inside else None)


def _with_train(test: EmbeddingFile, wanted: bool, run: Run | None, recipe: Recipe | None) -> Input:
    train = training_file(test) if wanted else None
    return Input("", test.path, None if train is None else train.path, run, recipe, test.contents)


def _group_names(given: Sequence[str | None], opened: Sequence[Input]) -> list[str]:
    """Name inputs as asked; seeds of one recipe alike, by their method; all else told apart.

    Inputs of one name are averaged, so no two come to one by accident.
    """
    families = [
        place if name is not None else _family(each) or place
        for place, (name, each) in enumerate(zip(given, opened, strict=True))
    ]
    # Two runs of one seed would count as one: they are no family but inputs of their own.
    seeds = Counter(
        (family, each.recipe and each.recipe.seed)
        for family, each in zip(families, opened, strict=True)
    )
    doubled = {family for (family, _), times in seeds.items() if times > 1}
    families = [place if each in doubled else each for place, each in enumerate(families)]
    first = {family: families.index(family) for family in families}
    sources = [
        Source(each.test if each.run is None else each.run.folder, each.model, name)
        for name, each in zip(given, opened, strict=True)
    ]
    names = distinct_names([sources[place] for place in first.values()])
    name_of = dict(zip(first, names, strict=True))
    return [name_of[family] for family in families]


def _family(each: Input) -> Any:
    """Return what seeds of one model have in common, with the same images; None of a file alone."""
    if each.model is None:
        return None
    images = each.test.name if each.contents is None else each.contents.images
    return each.model.digest(), images
