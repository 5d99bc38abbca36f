"""Training: what the walk costs inside a step, and whole steps against a lightly pipeline.

Everything runs on the drawn ``shapes``, 32 x 32, batch 200, all cores.
"""

import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from benchmarks.report import Report, Target
from benchmarks.timing import peak_memory
from benchmarks.walk_share import draw_walk_share
from sag_vicreg.machine import holding_memory
from sag_vicreg.progress import track

if TYPE_CHECKING:
    from sag_vicreg.recipes import Recipe

# Batch sizes of the figure.
BATCHES = (64, 128, 256, 512, 1024, 2048, 4096)


def run(*, repeats: int = 5, figure: Path | None = None) -> Report:
    """Measure the walk's share of a step and its memory, and images per second from end to end.

    Parameters
    ----------
    repeats
        Steps, or turns, whose median counts.
    figure
        Draw the walk's share by batch size here.
    """
    from benchmarks.training_peer import images_per_second

    seconds, walk = time_steps(_recipe("sag-vicreg", "paper"), repeats)
    stock_seconds = _stock_step(repeats)
    small_seconds, held_seconds = _held_step(repeats)
    memory = {name: _peak_of(name, repeats) for name in ("vicreg", "sag-vicreg")}
    ours, theirs = images_per_second(_recipe("vicreg", "paper"), repeats)
    small_ours, small_theirs = images_per_second(_recipe("vicreg", "cpu"), repeats)
    shares = walk_shares(repeats) if figure is not None else {}
    if figure is not None:
        draw_walk_share(shares, figure)
    rows: list[tuple[str, ...]] = [
        ("step, ResNet-34, seconds", f"{seconds:.3f}", ""),
        (
            "the same with stock convolutions on small maps",
            f"{stock_seconds:.3f}",
            f"{stock_seconds / seconds:.2f}",
        ),
        ("of it the walk, milliseconds", f"{1e3 * walk:.2f}", f"{walk / (seconds - walk):.4f}"),
        ("step, small backbone, seconds", f"{held_seconds:.3f}", ""),
        (
            "the same with memory given back at every step",
            f"{small_seconds:.3f}",
            f"{small_seconds / held_seconds:.2f}",
        ),
        *(
            (f"peak memory, {name}, MiB", f"{peak / 2**20:.0f}", f"{peak / memory['vicreg']:.4f}")
            for name, peak in memory.items()
        ),
        ("images/s, ResNet-34, sag-vicreg's trainer", f"{ours:.0f}", f"{ours / theirs:.2f}"),
        ("images/s, ResNet-34, lightly pipeline", f"{theirs:.0f}", "1"),
        (
            "images/s, small backbone, sag-vicreg's trainer",
            f"{small_ours:.0f}",
            f"{small_ours / small_theirs:.2f}",
        ),
        ("images/s, small backbone, lightly pipeline", f"{small_theirs:.0f}", "1"),
        *(
            (f"walk's share at batch {n}, small backbone", "", f"{share:.4f}")
            for n, share in shares.items()
        ),
    ]
    return Report(
        title="Training on 32 x 32 images, batch 200",
        columns=("what", "measured", "ratio"),
        rows=rows,
        targets=[
            Target("walk over VICReg's step", walk / (seconds - walk), 0.02, at_least=False),
            Target(
                "peak memory over VICReg's",
                memory["sag-vicreg"] / memory["vicreg"],
                1.01,
                at_least=False,
            ),
            Target("images/s over lightly, ResNet-34", ours / theirs, 1.5),
            Target("images/s over lightly, small backbone", small_ours / small_theirs, 2),
        ],
    )


def _recipe(method: str, scale: str, *overrides: str) -> "Recipe":
    from sag_vicreg.recipes import load_recipe

    walk = ["method.walk_after=0"] if method == "sag-vicreg" else []
    settings = ["dataset.max_images=4096", *walk, *overrides]
    return load_recipe(f"shapes/{method}", scale=scale, overrides=settings)


class Stepper:
    """One training step after the other, without a trainer: data, views, loss, update."""

    def __init__(self, recipe: "Recipe") -> None:
        import torch

        from sag_vicreg.methods import make_method
        from sag_vicreg.methods.backbone import uses_channels_last
        from sag_vicreg.training.batches import Plan
        from sag_vicreg.training.inputs import Inputs, load_images
        from sag_vicreg.training.optimizer import make_optimizer

        torch.manual_seed(0)
        images = load_images(recipe, "train", root=None)
        self.plan = Plan(recipe, len(images))
        self.method = make_method(recipe)
        channels_last = uses_channels_last(self.method.backbone)
        if channels_last:
            self.method.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.inputs = Inputs(self.plan, images, channels_last=channels_last)
        self.optimizer = make_optimizer(recipe, self.method)
        self.device = torch.device("cpu")
        self.done = 0

    def step(self) -> None:
        """Take one step."""
        moment = self.plan.moment(self.done, 0)
        batch = self.inputs.views(self.inputs[moment], self.device)
        terms = self.method(batch.views, moment)
        self.optimizer.zero_grad()
        terms.total.backward()
        self.optimizer.step()
        self.done += 1


@contextmanager
def stopwatch(module: Any) -> Iterator[list[float]]:
    """Collect the seconds each call of ``module`` takes."""
    seconds: list[float] = []
    started: list[float] = []
    before = module.register_forward_pre_hook(lambda *_: started.append(time.perf_counter()))
    after = module.register_forward_hook(
        lambda *_: seconds.append(time.perf_counter() - started.pop())
    )
    try:
        yield seconds
    finally:
        before.remove()
        after.remove()


def time_steps(recipe: "Recipe", repeats: int) -> tuple[float, float]:
    """Return the median seconds of a step, and of the walk inside of the same steps."""
    stepper = Stepper(recipe)
    steps = []
    with stopwatch(stepper.method.loss.pairing) as walks:  # type: ignore[union-attr]
        for _ in track(range(1 + repeats), f"steps of {recipe.batch_size}"):
            start = time.perf_counter()
            stepper.step()
            steps.append(time.perf_counter() - start)
    return statistics.median(steps[1:]), statistics.median(walks[1:])


def _stock_step(repeats: int) -> float:
    """Return the median seconds of a step with PyTorch's own convolution everywhere."""
    from torch import nn

    from sag_vicreg.methods.small_maps import SmallMapConv2d

    with patch.object(SmallMapConv2d, "forward", nn.Conv2d.forward):
        return time_steps(_recipe("sag-vicreg", "paper"), repeats)[0]


def _held_step(repeats: int) -> tuple[float, float]:
    """Return the median seconds of a small step as glibc would have it, and with memory held."""
    recipe = _recipe("sag-vicreg", "cpu")
    plain = time_steps(recipe, repeats)[0]
    with holding_memory():
        return plain, time_steps(recipe, repeats)[0]


def walk_shares(repeats: int) -> dict[int, float]:
    """Time the walk over the rest of the step, by batch size, with the small backbone."""
    shares = {}
    for n in BATCHES:
        seconds, walk = time_steps(_recipe("sag-vicreg", "cpu", f"batch_size={n}"), repeats)
        shares[n] = walk / (seconds - walk)
    return shares


def _peak_of(method: str, repeats: int) -> float:
    """Median peak of a training in a process of its own: weights, optimiser and activations."""
    return statistics.median(
        peak_memory(_load_everything, partial(_two_steps, method))[0] for _ in range(repeats)
    )


def _load_everything() -> None:
    """Take a small step, so that the code of every part is in memory before the count starts."""
    Stepper(_recipe("sag-vicreg", "smoke")).step()


def _two_steps(method: str, _: None) -> None:
    stepper = Stepper(_recipe(method, "paper"))
    for _step in range(2):
        stepper.step()
