"""The drawn ``shapes`` as a source; how they are drawn is in :mod:`sag_vicreg.data.shapes`."""

import torch

from sag_vicreg.data.shapes import PER_CLASS, SIZE, draw_shapes
from sag_vicreg.data.sources.records import Records, Request
from sag_vicreg.data.splits import class_indices
from sag_vicreg.hierarchy import load_hierarchy


def load_shapes(request: Request) -> Records:
    """Draw the wanted classes, and no more images of each than ``max_images`` can use."""
    request.refuse_all("shapes")
    names = load_hierarchy("shapes").classes
    classes = class_indices(names, request.classes)
    split, seed, per_class = request.split, request.seed, PER_CLASS[request.split]
    if request.max_images is not None:
        per_class = min(per_class, max(1, -(-request.max_images // len(classes))))
    pixels, labels = draw_shapes(
        split, size=request.image_size or SIZE, seed=seed, classes=classes, per_class=per_class
    )
    # The seed is part of the id: the same place in another drawing is another image.
    ids = [
        f"{split}/{seed}/{names[label]}/{place:04d}"
        for label in classes
        for place in range(per_class)
    ]
    return Records(names, labels, ids, pixels=torch.from_numpy(pixels))
