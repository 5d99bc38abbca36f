"""A few images of some classes, and views of them, to look at."""

from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from sag_vicreg.data.catalog import load_dataset
from sag_vicreg.data.views import VIEW_KINDS, denormalize, make_views
from sag_vicreg.errors import check_name

Images = NDArray[np.uint8]

# Views of one image on a sheet; VICReg's two, drawn three times.
_VIEWS = 6


def sample_images_and_views(
    name: str,
    *,
    root: Path | str | None = None,
    split: str = "train",
    kind: str = "vicreg",
    rows: int = 12,
    columns: int = 6,
    seed: int = 0,
) -> tuple[list[str], dict[str, list[list[Images]]]]:
    """Pick ``columns`` images of ``rows`` classes, and make views of the first of each.

    The classes are spread evenly over the label order.

    Returns
    -------
    names, groups
        Class names, and under each heading one list of uint8 images (h, w, 3) per class.
    """
    check_name("kind of views", kind, VIEW_KINDS)
    data = load_dataset(name, root=root, split=split, seed=seed, resident=False)
    present = np.unique(data.labels.numpy())
    chosen = present[np.linspace(0, len(present) - 1, min(rows, len(present))).round().astype(int)]
    rng = np.random.default_rng(seed)
    views = make_views(kind, data.image_size)
    generator = torch.Generator().manual_seed(seed)
    names, images, seen = [], [], []
    for label in chosen:
        picked = rng.permutation(np.flatnonzero(data.labels.numpy() == label))[:columns]
        batch = data.batch(np.sort(picked))
        names.append(data.class_names[label].replace("_", " "))
        images.append(_to_arrays(batch))
        made: list[Images] = []
        while len(made) < _VIEWS:
            for view in views(batch[:1], generator=generator):
                made += _to_arrays(denormalize(view))
        seen.append(made[: max(_VIEWS, len(views.recipes))])
    return names, {"images": images, f"{kind} views of the first": seen}


def _to_arrays(batch: torch.Tensor) -> list[Images]:
    return list(batch.permute(0, 2, 3, 1).numpy())
