"""``shapes``: drawn images with a class tree that shows in their pixels. No download, no files.

Four levels of 3 / 6 / 12 / 48. Each level has its own visible mark: the kingdom (level 1) sets the
scene behind the figures, the family (2) their colours and a mark they all wear, the surface (3)
their texture, the class (4) their outline and whether there is one or three. Pose, scale, colours,
light, background and noise vary from image to image.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from sag_vicreg.data.shapes.outlines import OUTLINES
from sag_vicreg.data.shapes.scene import ShapeClass, draw_class
from sag_vicreg.errors import InputError
from sag_vicreg.hierarchy import load_hierarchy
from sag_vicreg.machine import core_count

__all__ = ["PER_CLASS", "SIZE", "ShapeClass", "draw_class", "draw_shapes", "shape_classes"]

SIZE = 32
PER_CLASS = {"train": 200, "test": 50}

_COUNTS = {"one": 1, "three": 3}
_PLURALS = {"daisies": "daisy", "leaves": "leaf"}


def shape_classes() -> tuple[ShapeClass, ...]:
    """Describe what each class of the tree looks like, in label order.

    A name says it all: ``three_dotted_daisies`` under ``garden/flowers/dotted_flowers``.
    """
    classes = []
    for kingdom, family, _, name in load_hierarchy("shapes").paths:
        count, texture, noun = name.split("_")
        outline = noun if noun in OUTLINES else _PLURALS.get(noun, noun.removesuffix("s"))
        classes.append(ShapeClass(kingdom, family, texture, outline, _COUNTS[count]))
    return tuple(classes)


def draw_shapes(
    split: str,
    *,
    size: int = SIZE,
    seed: int = 0,
    classes: Sequence[int] | NDArray[np.int64] | None = None,
    per_class: int | None = None,
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Draw a split: images (n, 3, size, size) and labels (n,), classes one after the other.

    Every class has a random stream of its own from (seed, split, class), so an image depends on
    nothing else, and train and test never share one.
    """
    if not 8 <= size <= 512:
        raise InputError(f"cannot draw shapes of {size} px: ask for 8 to 512")
    kinds = shape_classes()
    labels = np.arange(len(kinds)) if classes is None else np.asarray(classes)
    n = PER_CLASS[split] if per_class is None else per_class
    images = np.empty((len(labels), n, 3, size, size), dtype=np.uint8)

    def draw(place: int, label: int) -> None:
        rng = np.random.default_rng([seed, list(PER_CLASS).index(split), label])
        images[place] = draw_class(kinds[label], n, size, rng)

    # NumPy lets go of the interpreter while it computes, so threads share the classes out.
    with ThreadPoolExecutor(max_workers=core_count()) as pool:
        list(pool.map(draw, range(len(labels)), labels.tolist()))
    return images.reshape(-1, 3, size, size), np.repeat(labels, n).astype(np.int64)
