"""The class tree itself: levels, groups, parents, and the distance between two classes."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sag_vicreg.arrays import Ints
from sag_vicreg.errors import InputError


@dataclass(frozen=True)
class Hierarchy:
    """A tree over classes, all of them at the same depth.

    Levels are numbered as in the paper: 1 is the coarsest, ``n_levels`` the classes themselves.
    Groups of a level are indexed in the order in which their first class appears; at the finest
    level that is the order of ``classes``, so group indices there are class indices.

    Parameters
    ----------
    paths
        One path per class, in label order: the names of its groups from coarse to fine, ending in
        the class itself.

    Examples
    --------
    >>> tree = Hierarchy((("animal", "cat"), ("thing", "cup"), ("animal", "dog")))
    >>> tree.classes
    ('cat', 'cup', 'dog')
    >>> tree.names_at(1), tree.labels_at(1)
    (('animal', 'thing'), array([0, 1, 0]))
    >>> tree.encode(["dog", "cup"], level=1)
    array([0, 1])
    """

    paths: tuple[tuple[str, ...], ...]

    def __post_init__(self) -> None:
        _check(self.paths)

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the classes, in label order."""
        return tuple(path[-1] for path in self.paths)

    @property
    def n_levels(self) -> int:
        """Number of levels; the root above level 1 is not counted."""
        return len(self.paths[0])

    @property
    def levels(self) -> range:
        """Numbers of the levels, 1 the coarsest."""
        return range(1, self.n_levels + 1)

    @cached_property
    def _level_names(self) -> tuple[tuple[str, ...], ...]:
        return tuple(tuple(dict.fromkeys(column)) for column in zip(*self.paths, strict=True))

    @cached_property
    def _level_labels(self) -> Ints:
        columns = zip(self._level_names, zip(*self.paths, strict=True), strict=True)
        return np.array([list(map(names.index, column)) for names, column in columns], np.int64)

    def names_at(self, level: int) -> tuple[str, ...]:
        """Names of the groups at ``level``, in the order of their indices."""
        return self._level_names[self._row(level)]

    def labels_at(self, level: int) -> Ints:
        """Group index at ``level`` of every class, shape (n_classes,)."""
        return np.array(self._level_labels[self._row(level)])

    def parents(self, level: int) -> Ints:
        """Group index at ``level - 1`` of every group at ``level``; all 0, the root, at level 1."""
        here = self.labels_at(level)
        above = np.zeros_like(here) if level == 1 else self.labels_at(level - 1)
        _, first_class = np.unique(here, return_index=True)
        return above[first_class]

    def tree_distance(self, among: Ints | None = None) -> Ints:
        """Edges between every two classes through their lowest common ancestor.

        Siblings are 2 apart, classes that meet only at the root ``2 * n_levels``.

        Parameters
        ----------
        among
            Indices of the classes to measure between; all of them by default.
        """
        levels = self._level_labels if among is None else self._level_labels[:, among]
        apart = sum(groups[:, None] != groups for groups in levels)
        return 2 * np.asarray(apart, dtype=np.int64)

    def encode(self, labels: ArrayLike, level: int) -> Ints:
        """Group index at ``level`` of every image.

        Parameters
        ----------
        labels
            One label per image: class names, or indices into ``classes``. Where classes are called
            by digits and all labels are such names, that is what they are.
        level
            1 (coarsest) to ``n_levels``.
        """
        given = np.asarray(labels)
        if given.ndim != 1:
            raise InputError(f"labels must be one per image, not an array of shape {given.shape}")
        by_index = given.dtype.kind in "iu" and not self._are_names(given)
        indices = self._from_indices(given) if by_index else self._from_names(given)
        return self.labels_at(level)[indices]

    def _are_names(self, numbers: NDArray[np.generic]) -> bool:
        """Whether whole numbers are names: of classes that are called by digits, as in ``7``."""
        return set(np.unique(numbers).astype(str).tolist()) <= set(self.classes)

    def _from_names(self, given: NDArray[np.generic]) -> Ints:
        names = given.astype(str).tolist()
        index = {name: position for position, name in enumerate(self.classes)}
        unknown = sorted(set(names) - index.keys())
        if unknown:
            raise InputError(
                f"{len(unknown)} class name(s) not in the hierarchy: {_some(unknown)}; "
                f"its classes are {_some(self.classes)}"
            )
        return np.array([index[name] for name in names], dtype=np.int64)

    def _from_indices(self, given: NDArray[np.generic]) -> Ints:
        indices = given.astype(np.int64)
        outside = np.unique(indices[(indices < 0) | (indices >= len(self.paths))])
        if outside.size:
            raise InputError(
                f"class indices {_some([str(value) for value in outside])} are outside the "
                f"hierarchy's 0 to {len(self.paths) - 1}"
            )
        return indices

    def _row(self, level: int) -> int:
        if not 1 <= level <= self.n_levels:
            raise InputError(f"level {level} does not exist: levels go from 1 to {self.n_levels}")
        return level - 1


def _some(names: Sequence[str], most: int = 10) -> str:
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def _check(paths: tuple[tuple[str, ...], ...]) -> None:
    """Complete, no class twice, levels nested."""
    if not paths:
        raise InputError("the hierarchy has no classes")
    depth = len(paths[0])
    seen: set[str] = set()
    parent_of: dict[tuple[int, str], str] = {}
    for path in paths:
        name = path[-1] if path else ""
        if not path or not all(path):
            raise InputError(f"class '{name}' has an empty name in its path '{'/'.join(path)}'")
        if len(path) != depth:
            raise InputError(
                f"class '{name}' has {len(path)} levels but '{paths[0][-1]}' has {depth}: "
                "give every class a path of the same length"
            )
        if name in seen:
            raise InputError(f"class '{name}' appears twice")
        seen.add(name)
        for level, (parent, group) in enumerate(pairwise(path), start=2):
            known = parent_of.setdefault((level, group), parent)
            if known != parent:
                raise InputError(
                    f"levels are not nested: '{group}' at level {level} lies under both "
                    f"'{known}' and '{parent}'; give the two groups different names"
                )
