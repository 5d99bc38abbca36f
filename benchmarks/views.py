"""Views per second on one core, against lightly's transform of the same images."""

import os
import tempfile
import time

from benchmarks.report import Report, Target
from benchmarks.timing import take_turns
from sag_vicreg.errors import InputError


def run(*, repeats: int = 5, images: int = 512) -> Report:
    """Time the full VICReg recipe: crop, flip, jitter with hue, grey, blur, solarise, normalise.

    Both make two views of the same images, in one thread; lightly one image at a time, as its data
    loader's workers do.
    """
    import torch

    from sag_vicreg.data import load_dataset, make_views  # declares what lightly's import needs

    from lightly.transforms.vicreg_transform import VICRegTransform  # isort: skip
    from torchvision.transforms.functional import to_pil_image  # isort: skip

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        batch = load_dataset("shapes", max_images=images).images
        pictures = [to_pil_image(image) for image in batch]
        views = make_views("vicreg", 32)
        peer = VICRegTransform(input_size=32)
        generator = torch.Generator().manual_seed(0)
        timings = take_turns(
            {
                "sag-vicreg, a batch at a time": lambda: views(batch, generator=generator),
                "lightly VICRegTransform": lambda: [peer(picture) for picture in pictures],
            },
            repeats=repeats,
        )
    finally:
        torch.set_num_threads(threads)
    rates = {name: 2 * len(batch) / timing.median for name, timing in timings.items()}
    ours, theirs = rates.values()
    return Report(
        title=f"VICReg views of {len(batch)} images, 32 px, one core",
        columns=("who", "views per second", "ratio to lightly"),
        rows=[(name, f"{rate:,.0f}", f"{rate / theirs:.1f}") for name, rate in rates.items()],
        targets=[
            Target("views per second, ratio to lightly", ours / theirs, 5),
            *_time_cifar100(),
        ],
    )


def _time_cifar100() -> list[Target]:
    """Time CIFAR-100 from parquet to a resident tensor, decoding and cached, where it is there."""
    from sag_vicreg.data import check_dataset, load_dataset

    try:
        check_dataset("cifar100")
    except InputError:
        return []
    seconds = []
    before = os.environ.get("SAG_VICREG_CACHE")
    with tempfile.TemporaryDirectory() as cache:
        os.environ["SAG_VICREG_CACHE"] = cache
        try:
            for _ in range(2):
                start = time.perf_counter()
                load_dataset("cifar100")
                seconds.append(time.perf_counter() - start)
        finally:
            del os.environ["SAG_VICREG_CACHE"]
            if before is not None:
                os.environ["SAG_VICREG_CACHE"] = before
    decoded, cached = seconds
    return [
        Target("CIFAR-100's training images, decoded, seconds", decoded, 30, at_least=False),
        Target("CIFAR-100's training images, from the cache, seconds", cached, 2, at_least=False),
    ]
