"""What a user points at: embedding files and run folders, named and grouped for comparison."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sag_vicreg.artifacts import Embeddings, Run, read_embeddings, split_of, training_file
from sag_vicreg.errors import InputError
from sag_vicreg.hierarchy import Hierarchy, hierarchy_names, load_hierarchy
from sag_vicreg.recipes import Recipe, load_recipe

NO_GROUPS = "none"
"""What a class tree of one level is called, which stands for no class tree at all."""


@dataclass(frozen=True)
class Input:
    """One set of embeddings to evaluate: inputs of one name are seeds of one model."""

    name: str
    test: Path
    train: Path | None
    run: Run | None = None
    recipe: Recipe | None = None

    def read(self) -> tuple[Embeddings, Embeddings | None]:
        """Return the test set and, where there is one, the training set."""
        train = None if self.train is None else read_embeddings(self.train)
        return read_embeddings(self.test), train


def open_inputs(specs: Sequence[str], train: Sequence[Path] = ()) -> list[Input]:
    """Find the embeddings behind each of ``specs``, ``PATH`` or ``NAME=PATH``.

    A path is an embedding file or a run folder, whose embeddings of its dataset's test split are
    taken, and those of the training split beside them. Runs whose recipes differ in nothing but
    the seed get one name, that of their method.

    Parameters
    ----------
    specs
        At least one.
    train
        Training embeddings, one file for each of ``specs`` in their order; none where the run
        folders bring their own.
    """
    if train and len(train) != len(specs):
        raise InputError(
            f"{len(train)} --train for {len(specs)} inputs: give one for each, in the same order"
        )
    given = [_split(spec) for spec in specs]
    opened = [_open(path) for _, path in given]
    names = _group_names([name for name, _ in given], opened)
    named = list(zip(names, (found.test for found in opened), strict=True))
    for name, test in named:
        if named.count((name, test)) > 1:
            raise InputError(f"{test} is named twice as '{name}': once is enough")
    return [
        Input(name, found.test, train[i] if train else found.train, found.run, found.recipe)
        for i, (name, found) in enumerate(zip(names, opened, strict=True))
    ]


def find_hierarchy(
    name: str | None, inputs: Sequence[Input], labels: Sequence[np.ndarray | None]
) -> tuple[str, Hierarchy]:
    """Return the class tree to use and what to call it.

    The one asked for; else that of the runs' dataset; else no groups at all, every label that
    occurs a class of the only level.
    """
    if name is not None:
        return name, load_hierarchy(name)
    datasets = {None if each.recipe is None else each.recipe.dataset.name for each in inputs}
    if len(datasets) == 1 and (dataset := datasets.pop()) in hierarchy_names():
        assert dataset is not None
        return dataset, load_hierarchy(dataset)
    known = [each for each in labels if each is not None]
    if not known:
        raise InputError("the embeddings have no labels: evaluation needs one per point")
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


def _open(path: Path) -> Input:
    if path.is_dir():
        run = Run(path)
        if not run.recipe.is_file():
            raise InputError(f"{path} is not a run, it has no recipe.yaml: name an embedding file")
        recipe = load_recipe(run.recipe)
        test = _test_file(run, recipe)
        return Input("", test, _training_file(test), run, recipe)
    run = Run(path.parent.parent)
    if path.parent == run.embeddings and run.recipe.is_file():
        return Input("", path, _training_file(path), None, load_recipe(run.recipe))
    return Input("", path, None)


def _test_file(run: Run, recipe: Recipe) -> Path:
    dataset = recipe.dataset
    whole = run.embedding_file(dataset.name, "test", "all", seed=dataset.seed)
    tests = [path for path in run.embedding_files() if split_of(path) == "test"]
    if whole in tests:
        return whole
    if len(tests) == 1:
        return tests[0]
    if tests:
        raise InputError(
            f"{run.folder} has several: {', '.join(p.name for p in tests)}; name one by its path"
        )
    raise InputError(
        f"{run.folder} has no test embeddings: make them with "
        f"`sag-vicreg embed {run.folder} --dataset {recipe.dataset.name}`, "
        "and once more with --split train for k-NN and probe"
    )


def _training_file(test: Path) -> Path | None:
    """Find the training split's file beside the test split's, where there is one."""
    beside = training_file(test) if split_of(test) == "test" else None
    return beside if beside is not None and beside.is_file() else None


def _group_names(given: Sequence[str | None], opened: Sequence[Input]) -> list[str]:
    """Name inputs as asked; seeds of one recipe by their method; all else told apart.

    Inputs of one name are averaged, so no two come to one by accident.
    """
    by_method: dict[str, list[Input]] = {}
    for each in opened:
        if each.recipe is not None:
            by_method.setdefault(each.recipe.method.name, []).append(each)
    files = [each.test for each in opened if each.recipe is None]
    taken = {name for name in given if name is not None}
    names = []
    for name, each in zip(given, opened, strict=True):
        if name is not None:
            names.append(name)
        elif each.recipe is None:
            own = _shortest_name(each.test, files)
            names.append(str(each.test) if own in taken or own in by_method else own)
        elif _are_seeds(by_method[each.recipe.method.name]):
            method = each.recipe.method.name
            names.append(f"{method} (runs)" if method in taken else method)
        else:
            where = each.test if each.run is None else each.run.folder
            names.append(f"{each.recipe.method.name} ({where})")
    return names


def _are_seeds(inputs: Sequence[Input]) -> bool:
    """Whether these are one recipe's models of different seeds, each with the same images."""
    recipes = [each.recipe for each in inputs if each.recipe is not None]
    alike = {recipe.model_copy(update={"seed": 0}).digest() for recipe in recipes}
    images = {each.test.name for each in inputs}
    return len(alike) == len(images) == 1 and len({r.seed for r in recipes}) == len(recipes)


def _shortest_name(path: Path, among: Sequence[Path]) -> str:
    """Return the end of the path, as long as tells it from the others."""
    for whole, others in (
        (path.with_suffix(""), [other.with_suffix("") for other in among]),
        (path, among),
    ):
        for parts in range(1, len(path.parts) + 1):
            if sum(other.parts[-parts:] == whole.parts[-parts:] for other in others) == 1:
                return str(Path(*whole.parts[-parts:]))
    return str(path)
