"""SAG-VICReg's loss against lightly's VICReg, and the pairing against one matrix product."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from benchmarks.report import Report, Target
from benchmarks.timing import Timing, peak_memory, take_turns
from sag_vicreg import torchvision_ops as torchvision_ops
from sag_vicreg.losses import SAGVICRegLoss, VICRegLoss
from sag_vicreg.losses.vicreg import invariance, variance_and_covariance
from sag_vicreg.pairing import neighbor_affinity, random_walk

# Batch and expander width of the paper's ImageNet-100 and CIFAR-100 runs.
LARGE, SMALL = (256, 8192), (200, 1024)
LIGHTLY_BOUNDS = {LARGE: 20, SMALL: 4}

Views = tuple[Tensor, Tensor]
Setting = tuple[int, tuple[int, int]]
"""Threads, and the shape of the batch."""


def make_views(shape: tuple[int, int]) -> Views:
    """Draw two noisy views of one batch."""
    generator = torch.Generator().manual_seed(0)
    z = torch.randn(shape, generator=generator)
    z_prime = z + 0.5 * torch.randn(shape, generator=generator)
    return z.requires_grad_(), z_prime.requires_grad_()


def _sag(z: Tensor, z_prime: Tensor) -> Tensor:
    total: Tensor = SAGVICRegLoss()(z, z_prime).total
    return total


def _vicreg(z: Tensor, z_prime: Tensor) -> Tensor:
    total: Tensor = VICRegLoss()(z, z_prime).total
    return total


def _sag_by_features(z: Tensor, z_prime: Tensor) -> Tensor:
    """SAG-VICReg with the d x d covariance matrix whatever the shape."""
    loss = SAGVICRegLoss()
    assert loss.pairing is not None
    walked = loss.pairing(z, z_prime)
    v, c = (
        a + b
        for a, b in zip(
            variance_and_covariance(walked.z, side="features"),
            variance_and_covariance(walked.z_partner, side="features"),
            strict=True,
        )
    )
    s = invariance(walked.z, walked.z_partner, walked.weights)
    return loss.invariance * s + loss.variance * v / 2 + loss.covariance * c


def _lightly(z: Tensor, z_prime: Tensor) -> Tensor:
    from lightly.loss import VICRegLoss as LightlyVICRegLoss

    total: Tensor = LightlyVICRegLoss()(z, z_prime)
    return total


LOSSES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "SAG-VICReg": _sag,
    "VICReg": _vicreg,
    "SAG by d x d side": _sag_by_features,
    "lightly's VICReg": _lightly,
}


def forward_and_backward(name: str, views: Views) -> None:
    """Leave the gradients of one loss in its views."""
    for view in views:
        view.grad = None
    LOSSES[name](*views).backward()


def _warm_views(name: str) -> Views:
    """Run the loss once, small, so that only what the large one needs is counted."""
    forward_and_backward(name, make_views((16, 32)))
    return make_views(LARGE)


@torch.no_grad()
def _product(views: Views) -> None:
    torch.mm(views[0], views[1].T)


def _pair(views: Views) -> None:
    random_walk(neighbor_affinity(*views))


def run(*, repeats: int = 7) -> Report:
    """Measure time at the paper's two shapes and memory at the larger one.

    In one thread and in all of them: BLAS gains more from threads than what surrounds it does, so
    that a ratio of one thread says little about many.
    """
    memory = {
        name: peak_memory(partial(_warm_views, name), partial(forward_and_backward, name))[0]
        for name in LOSSES
    }
    every_thread = torch.get_num_threads()
    times: dict[Setting, dict[str, Timing]] = {}
    try:
        for threads in sorted({1, every_thread}):
            torch.set_num_threads(threads)
            times |= {(threads, shape): _times(shape, repeats) for shape in (LARGE, SMALL)}
    finally:
        torch.set_num_threads(every_thread)
    rows: list[tuple[str, ...]] = [
        (
            str(threads),
            f"{shape[0]} x {shape[1]}",
            name,
            f"{timing.median * 1e3:.2f}",
            f"{timing.median / timings['SAG-VICReg'].median:.2f}",
            f"{memory[name] / 1e6:.0f}" if shape == LARGE and name in memory else "",
        )
        for (threads, shape), timings in times.items()
        for name, timing in timings.items()
    ]
    return Report(
        f"Loss, forward and backward, float32, medians of {repeats}",
        ("threads", "n x d", "what", "ms", "ratio to ours", "extra MB"),
        rows,
        [
            Target(
                "memory of SAG-VICReg over lightly's VICReg at 256 x 8192",
                memory["SAG-VICReg"] / memory["lightly's VICReg"],
                0.1,
                at_least=False,
            ),
            *(_time_target(setting, timings) for setting, timings in times.items()),
            *(
                _pairing_target(setting, timings)
                for setting, timings in times.items()
                if setting[1] == LARGE
            ),
        ],
    )


def _times(shape: tuple[int, int], repeats: int) -> dict[str, Timing]:
    views = make_views(shape)
    losses = {name: partial(forward_and_backward, name, views) for name in LOSSES}
    # Apart, because what runs after a loss of gigabytes finds its caches empty.
    pairing = {"pairing alone": partial(_pair, views), "z @ z'.T": partial(_product, views)}
    return take_turns(losses, repeats=repeats) | take_turns(pairing, repeats=5 * repeats)


def _time_target(setting: Setting, timings: dict[str, Timing]) -> Target:
    return Target(
        f"SAG-VICReg faster than lightly's VICReg, times, {_describe(setting)}",
        timings["lightly's VICReg"].median / timings["SAG-VICReg"].median,
        LIGHTLY_BOUNDS[setting[1]],
    )


def _pairing_target(setting: Setting, timings: dict[str, Timing]) -> Target:
    return Target(
        f"time of pairing over z @ z'.T, {_describe(setting)}",
        timings["pairing alone"].median / timings["z @ z'.T"].median,
        2,
        at_least=False,
    )


def _describe(setting: Setting) -> str:
    threads, (n, d) = setting
    return f"{n} x {d}, {threads} thread{'s' if threads > 1 else ''}"
