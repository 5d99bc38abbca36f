"""Figure 2, computed: a query of unseen classes and its nearest images under each model."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sag_vicreg.artifacts import Run, join
from sag_vicreg.errors import InputError
from sag_vicreg.figures.query import Query
from sag_vicreg.reproduce.declarations import ImageSet
from sag_vicreg.reproduce.embedding import embed_once, labels_of


def rank_images(
    runs: Sequence[Run],
    titles: Sequence[str],
    images: ImageSet,
    *,
    split_seed: int,
    query: str | None = None,
    count: int = 5,
    seed: int = 0,
) -> Query:
    """Rank ``images`` by cosine to the one with the id ``query``, under each of ``runs``.

    Without an id the query is a seeded draw: nobody picked the image for what it shows.
    """
    from sag_vicreg.evaluation.checks import unit_rows

    sets = join([embed_once(run, images) for run in runs], [str(run.folder) for run in runs]).sets
    ids, names = sets[0].ids, labels_of(sets[0]).astype(np.str_)
    assert ids is not None
    if query is None:
        row = int(np.random.default_rng(seed).integers(len(ids)))
    else:
        found = np.flatnonzero(ids == query)
        if not found.size:
            raise InputError(f"no image '{query}': ids are like '{ids[0]}'")
        row = int(found[0])
    units = (unit_rows(embeddings.vectors) for embeddings in sets)
    cosines = np.stack([unit @ unit[row] for unit in units])
    order = np.argsort(-cosines, axis=1, kind="stable")
    nearest = np.stack([ranked[ranked != row][:count] for ranked in order])
    shown = _pixels(images, ids[[row, *nearest.ravel()]].tolist(), seed=split_seed)
    return Query(
        shown[0],
        str(names[row]),
        np.array(titles),
        shown[1:].reshape(*nearest.shape, *shown.shape[1:]),
        names[nearest],
        np.take_along_axis(cosines, nearest, axis=1),
    )


def _pixels(images: ImageSet, ids: Sequence[str], *, seed: int) -> NDArray[np.uint8]:
    from sag_vicreg.data import load_dataset

    data = load_dataset(images.dataset, split=images.split, classes=images.classes, seed=seed)
    place = {identity: row for row, identity in enumerate(data.ids)}
    return np.asarray(data.batch([place[identity] for identity in ids]).permute(0, 2, 3, 1))
