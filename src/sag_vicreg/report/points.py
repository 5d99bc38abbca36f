"""The images all models of a report embed: the same rows in every model, with class and levels."""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sag_vicreg.artifacts import (
    THUMBNAILS,
    EmbeddingFile,
    Embeddings,
    join,
    read_embeddings,
    shorten,
)
from sag_vicreg.errors import InputError
from sag_vicreg.hierarchy import Hierarchy, hierarchy_names, load_hierarchy
from sag_vicreg.report.sources import Model
from sag_vicreg.structure.points import LARGEST

# Scores, maps, trees and neighbours are of this many models: two at a time, from short lists.
MOST_MODELS = 6
# Characters of a text that stand for a branch around it.
_BRIEFLY = 40

FloatArray = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Level:
    """One level of the hierarchy, with the groups that occur, and each class's group."""

    title: str
    noun: str
    names: tuple[str, ...]
    groups_of_classes: NDArray[np.int64]


@dataclass(frozen=True)
class Points:
    """The common images: one matrix a model, rows in the same order everywhere."""

    models: tuple[Model, ...]
    held_out: bool
    """Whether the file says that these are test images."""
    vectors: tuple[FloatArray, ...]
    ids: tuple[str, ...] | None
    classes: tuple[str, ...]
    labels: NDArray[np.int64] | None
    levels: tuple[Level, ...]
    left_out: int
    """Rows of all models whose id not every model has."""
    thumbnails: tuple[tuple[Path, str | None], ...] = ()
    """Thumbnail files beside the embeddings, and the dataset whose images these are."""
    texts: tuple[str, ...] | None = None
    """What each row is, in words."""
    by_position: bool = False
    """Whether some models have ids and others none, so that ids could not match the rows."""
    drawn_from: int | None = None
    """Rows of the tables of which these are a random sample; None where they are all."""

    def __len__(self) -> int:
        return len(self.vectors[0])

    @property
    def noun(self) -> str:
        """What a row is: an image where a run or a thumbnail says so, a text where it has one."""
        images = self.thumbnails or any(model.recipe is not None for model in self.models)
        return "image" if images else "row" if self.texts is None else "text"

    def describe(self, row: int) -> str:
        """Call a row by its id, or by its place where there are no ids."""
        return f"row {row}" if self.ids is None else self.ids[row]

    def like(self, row: int) -> str:
        """Call a row by how its text begins, where it has one."""
        text = "" if self.texts is None else self.texts[row]
        return f"“{shorten(text, _BRIEFLY)}”" if text else self.describe(row)

    def sample(self, most: int, seed: int) -> NDArray[np.intp]:
        """Choose at most ``most`` rows, spread evenly over the classes, in their own order."""
        n = len(self)
        if n <= most:
            return np.arange(n)
        order = np.random.default_rng(seed).permutation(n)
        labels = np.zeros(n, dtype=np.int64) if self.labels is None else self.labels
        # Rank of each row within its class: taking low ranks first takes classes in turn.
        rank = np.empty(n, dtype=np.int64)
        for label in np.unique(labels):
            members = order[labels[order] == label]
            rank[members] = np.arange(len(members))
        return np.sort(order[np.argsort(rank[order], kind="stable")[:most]])


def models_to_show(models: Sequence[Model], which: str | None) -> list[Model]:
    """Choose whose images are compared, at most :data:`MOST_MODELS`.

    All that were named; and of the runs found below a folder those that have one embedding file in
    common, with the named ones and with as many of each other as possible.
    """
    embedded = [model for model in models if model.embeddings]
    needed = [set(model.embeddings) for model in embedded if model.named and model.recipe]
    found = dict.fromkeys(images for m in embedded if not m.named for images in m.embeddings)
    shared = [images for images in found if all(images in files for files in needed)]
    if shared:
        first = _first(embedded, shared, which)
        embedded = [model for model in embedded if model.named or first in model.embeddings]
    return embedded[:MOST_MODELS]


def _is_test(file: EmbeddingFile) -> bool:
    return file.contents is not None and file.contents.split == "test"


def _first(
    models: Sequence[Model], images: Iterable[Hashable], which: str | None
) -> Hashable | None:
    """Choose of ``images`` those of the file asked for, else those that most models have.

    Of several, held-out images come first, then what comes first by name.
    """

    def place(each: Hashable) -> tuple[bool, int, bool, str]:
        files = [model.embeddings[each] for model in models if each in model.embeddings]
        name = files[0].path.stem
        return name != which, -len(files), not _is_test(files[0]), name

    return min(images, key=place, default=None)


def gather_points(
    models: Sequence[Model],
    *,
    which: str | None = None,
    hierarchy: str | None = None,
    how: str = "exact",
) -> Points | None:
    """Read and join the embeddings of the models to show; None where no model has any."""
    shown = models_to_show(models, which)
    if not shown:
        return None
    files = _choose_files(shown, which)
    beside = {
        file.path.with_name(THUMBNAILS): None if file.contents is None else file.contents.dataset
        for file in files
    }
    return points_of(
        shown,
        [
            read_embeddings(file.path, **asdict(model.columns))
            for model, file in zip(shown, files, strict=True)
        ],
        hierarchy=hierarchy,
        how=how,
        held_out=_is_test(files[0]),
        thumbnails=tuple((path, of) for path, of in beside.items() if path.is_file()),
    )


def points_of(
    models: Sequence[Model],
    sets: Sequence[Embeddings],
    *,
    hierarchy: str | None = None,
    how: str = "exact",
    held_out: bool = False,
    thumbnails: tuple[tuple[Path, str | None], ...] = (),
    drawn_from: int | None = None,
) -> Points:
    """Join what each model embeds, and find classes and levels."""
    for model, embeddings in zip(models, sets, strict=True):
        fits = np.abs(embeddings.vectors) <= LARGEST
        if not fits.all():
            row = int(np.flatnonzero(~fits.all(axis=1))[0])
            raise InputError(
                f"{model.path}: row {row} holds NaN, infinity or a number beyond {LARGEST:.0e}, "
                "which the map cannot show; embed it again, or divide all vectors by one number"
            )
    joined = join(sets, [str(model.path) for model in models], how=how)
    labels = next((e.labels for e in joined.sets if e.labels is not None), None)
    classes, encoded, levels = _encode(
        labels, _find_hierarchy(models, hierarchy), wanted=hierarchy is not None
    )
    ids = next((e.ids for e in joined.sets if e.ids is not None), None)
    return Points(
        models=tuple(models),
        held_out=held_out,
        vectors=tuple(e.vectors for e in joined.sets),
        ids=None if ids is None else tuple(ids.tolist()),
        classes=classes,
        labels=encoded,
        levels=levels,
        left_out=sum(joined.left_out),
        thumbnails=thumbnails,
        texts=None if joined.texts is None else tuple(joined.texts.tolist()),
        by_position=len({e.ids is None for e in sets}) > 1,
        drawn_from=drawn_from,
    )


def _choose_files(models: Sequence[Model], which: str | None) -> list[EmbeddingFile]:
    """Pick the file of each model: the one asked for, else of the images that all runs have."""
    runs = [model for model in models if model.recipe is not None]
    common = set.intersection(*(set(m.embeddings) for m in runs)) if runs else set()
    names = {runs[0].embeddings[images].path.stem for images in common}
    if which is not None and runs and which not in names:
        available = sorted({file.path.stem for m in runs for file in m.embeddings.values()})
        raise InputError(
            f"not every run has embeddings called '{which}': there are {', '.join(available)}"
        )
    if runs and not common:
        listed = ", ".join(file.path.stem for file in runs[0].embeddings.values())
        raise InputError(
            f"the runs have no embedding file in common: {runs[0].path} has {listed}; embed the "
            "same images with `sag-vicreg embed`"
        )
    first = _first(runs, common, which)
    return [m.embeddings.get(first, next(iter(m.embeddings.values()))) for m in models]


def _find_hierarchy(models: Sequence[Model], given: str | None) -> Hierarchy | None:
    if given is not None:
        return load_hierarchy(given)
    known = set(hierarchy_names()).intersection(
        model.recipe.dataset.name for model in models if model.recipe is not None
    )
    return load_hierarchy(known.pop()) if len(known) == 1 else None


def _encode(
    labels: NDArray[Any] | None, tree: Hierarchy | None, *, wanted: bool
) -> tuple[tuple[str, ...], NDArray[np.int64] | None, tuple[Level, ...]]:
    """Class names that occur, each row's index among them, and the levels above."""
    if labels is None:
        return (), None, ()
    if tree is not None:
        try:
            indices = tree.encode(labels, tree.n_levels)
        except InputError:
            # A tree the user asked for must fit; one guessed from the recipe may not.
            if wanted:
                raise
        else:
            present, encoded = np.unique(indices, return_inverse=True)
            levels = tuple(_level(tree, level, present) for level in tree.levels)
            # The finest level is that of the classes themselves.
            return levels[-1].names, encoded.astype(np.int64), levels
    present, encoded = np.unique(labels, return_inverse=True)
    numbered = labels.dtype.kind in "iu"
    names = tuple(f"class {value}" if numbered else str(value) for value in present)
    only = Level(f"Class ({len(names)})", "class", names, np.arange(len(names)))
    return names, encoded.astype(np.int64), (only,)


def _level(tree: Hierarchy, level: int, present: NDArray[np.int64]) -> Level:
    groups, of_classes = np.unique(tree.labels_at(level)[present], return_inverse=True)
    names = tuple(tree.names_at(level)[group] for group in groups)
    finest = level == tree.n_levels
    title = f"Class ({len(names)})" if finest else f"Level {level} ({len(names)})"
    noun = "class" if finest else f"level-{level} group"
    return Level(title, noun, names, of_classes.astype(np.int64))
