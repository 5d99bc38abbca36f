"""Who is in and who is not: class halves, class lists, train and test, balanced subsets."""

from collections.abc import Sequence

import numpy as np

from sag_vicreg.arrays import Ints
from sag_vicreg.errors import InputError, check_name, unknown_name

Classes = str | Sequence[str] | Sequence[int]

SPLITS = ("train", "test", "all")
TRAIN_SHARE = 0.8


def class_indices(class_names: Sequence[str], classes: Classes) -> Ints:
    """Look up the indices of the chosen classes, ascending.

    Parameters
    ----------
    classes
        ``"all"``; ``"first"`` or ``"second"``, the paper's halves of the label order (CIFAR-100's
        0-49 and 50-99); or a list of class names or indices.
    """
    n = len(class_names)
    if isinstance(classes, str):
        parts = {"all": (0, n), "first": (0, n // 2), "second": (n // 2, n)}
        if classes not in parts:
            raise unknown_name("choice of classes", classes, [*parts, "a list of class names"])
        return np.arange(*parts[classes], dtype=np.int64)
    chosen = []
    for item in classes:
        if isinstance(item, str):
            check_name("class", item, class_names)
            chosen.append(class_names.index(item))
        elif 0 <= int(item) < n:
            chosen.append(int(item))
        else:
            raise InputError(f"class {item} does not exist: classes go from 0 to {n - 1}")
    if not chosen:
        raise InputError("the list of classes is empty: name at least one")
    return np.unique(np.array(chosen, dtype=np.int64))


def seeded_split(labels: Ints, split: str, *, seed: int = 0) -> Ints:
    """Select the ``"train"`` 80 percent or the ``"test"`` 20 percent of every class.

    For sources without a test set of their own. The two never share an image; a class with one
    image has it in ``"train"``.
    """
    if split == "all":
        return np.arange(len(labels), dtype=np.int64)
    rank = _rank_within_class(labels, seed)
    sizes = np.bincount(labels)[labels]
    n_train = np.maximum(np.rint(sizes * TRAIN_SHARE), 1).astype(np.int64)
    # At least one image of every class that has two is for testing.
    n_train = np.where(sizes > 1, np.minimum(n_train, sizes - 1), n_train)
    return np.flatnonzero(rank < n_train if split == "train" else rank >= n_train)


def balanced_subset(labels: Ints, max_images: int | None, *, seed: int = 0) -> Ints:
    """Select at most ``max_images`` images, class sizes as equal as they can be, ascending."""
    if max_images is not None and max_images < 1:
        raise InputError(f"max_images is {max_images}: ask for at least 1")
    if max_images is None or max_images >= len(labels):
        return np.arange(len(labels), dtype=np.int64)
    rank = _rank_within_class(labels, seed)
    # One image of every class, then a second of every class, ...; the last round is cut at random.
    tie_break = np.random.default_rng([seed, 1]).permutation(len(labels))
    return np.sort(np.lexsort((tie_break, rank))[:max_images])


def _rank_within_class(labels: Ints, seed: int) -> Ints:
    """Place of every image in a random order of its class, 0 for the first."""
    order = np.random.default_rng([seed, 0]).permutation(len(labels))
    by_class = order[np.argsort(labels[order], kind="stable")]
    starts = np.concatenate([[0], np.cumsum(np.bincount(labels))])
    rank = np.empty(len(labels), dtype=np.int64)
    rank[by_class] = np.arange(len(labels)) - starts[labels[by_class]]
    return rank
