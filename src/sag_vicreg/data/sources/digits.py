"""scikit-learn's handwritten digits: 1,797 real 8 x 8 grey images that come with the library."""

import numpy as np
import torch

from sag_vicreg.data.sources.records import Records, Request


def load_digits(request: Request) -> Records:
    """Load the digits as RGB; the split is a seeded 80/20 of every class."""
    from sklearn.datasets import load_digits as load

    digits = load()
    grey = np.rint(digits.images * (255 / 16)).astype(np.uint8)
    return Records(
        class_names=tuple(str(digit) for digit in range(10)),
        labels=digits.target.astype(np.int64),
        ids=[f"{row:04d}" for row in range(len(grey))],
        pixels=torch.from_numpy(grey)[:, None].expand(-1, 3, -1, -1),
    ).split_by_seed(request)
