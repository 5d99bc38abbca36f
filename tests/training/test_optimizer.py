"""LARS against the official semantics written out one parameter at a time; the rate by table."""

import copy

import pytest
import torch
from torch import Tensor, nn

from sag_vicreg.recipes import load_recipe
from sag_vicreg.training.optimizer import LARS, learning_rate, make_optimizer


class OfficialLARS:
    """The official VICReg code's rule, as its paper's appendix and scripts state it."""

    def __init__(self, params: list[Tensor], momentum: float, decay: float, eta: float) -> None:
        self.params, self.momentum, self.decay, self.eta = params, momentum, decay, eta
        self.velocity = [torch.zeros_like(p) for p in params]

    def step(self, lr: float) -> None:
        for p, v in zip(self.params, self.velocity, strict=True):
            assert p.grad is not None
            update = p.grad.clone()
            if p.ndim > 1:
                update += self.decay * p.data
                weight, size = p.data.norm(), update.norm()
                if weight > 0 and size > 0:
                    update *= self.eta * weight / size
            v.mul_(self.momentum).add_(update)
            p.data -= lr * v


def network() -> nn.Module:
    torch.manual_seed(0)
    net = nn.Sequential(
        nn.Conv2d(3, 4, 3, bias=False), nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(144, 5)
    )
    nn.init.zeros_(net[3].weight)  # a zero norm: no adaptation, and no NaN
    return net.double()


@pytest.mark.parametrize("decay", [0.0, 1e-6, 0.5])
def test_lars_is_the_official_one_also_without_decay(decay: float) -> None:
    ours, theirs = network(), network()
    optimizer = LARS(ours.parameters(), lr=0.3, momentum=0.9, weight_decay=decay, eta=0.02)
    official = OfficialLARS(list(theirs.parameters()), 0.9, decay, 0.02)
    for step in range(6):
        images = torch.randn(
            8, 3, 8, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(step)
        )
        for net in (ours, theirs):
            net.zero_grad()
            (net(images) - 1).square().mean().backward()
        optimizer.step()
        official.step(0.3)
        for a, b in zip(ours.parameters(), theirs.parameters(), strict=True):
            torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-12)


def test_neither_timms_nor_lightlys_lars_is_the_official_one() -> None:
    """The reason ours exists; should this fail one day, use theirs."""
    from lightly.utils.lars import LARS as LightlyLARS
    from timm.optim.lars import Lars as TimmLARS

    start = network()
    results = []
    for kind in (LARS, LightlyLARS, TimmLARS):
        net = copy.deepcopy(start)
        optimizer = kind(net.parameters(), lr=0.3, momentum=0.9, weight_decay=0.5)  # type: ignore[operator]
        for _ in range(3):
            net.zero_grad()
            net(torch.ones(2, 3, 8, 8, dtype=torch.float64)).sum().backward()
            optimizer.step()
        results.append(torch.cat([p.detach().flatten() for p in net.parameters()]))
    assert not torch.allclose(results[0], results[1])
    assert not torch.allclose(results[0], results[2])


def test_biases_and_norms_are_left_out_of_decay() -> None:
    net = network()
    adamw = make_optimizer(load_recipe("cifar100/vicreg-vit"), net)
    assert [group["weight_decay"] for group in adamw.param_groups] == [0.05, 0.0]
    assert [len(group["params"]) for group in adamw.param_groups] == [2, 3]
    net[0].weight.requires_grad_(False)  # as a momentum teacher's
    frozen = make_optimizer(load_recipe("cifar100/vicreg"), net)
    assert sum(len(group["params"]) for group in frozen.param_groups) == 4


# step: learning rate, for peak 1.6, 10 steps of warm-up, 110 in all, final share 0.001.
# After warm-up: 1.6 * (0.001 + 0.999 * (1 + cos(pi * (step - 10) / 100)) / 2), worked by hand at
# the quarters, where the cosine is 1, sqrt(1/2), 0, -sqrt(1/2) and -1.
TABLE = {
    0: 0.0,
    1: 0.16,
    5: 0.8,
    9: 1.44,
    10: 1.6,
    35: 1.6 * (0.001 + 0.999 * (1 + 0.5**0.5) / 2),
    60: 1.6 * 0.5005,
    85: 1.6 * (0.001 + 0.999 * (1 - 0.5**0.5) / 2),
    110: 0.0016,
}


@pytest.mark.parametrize("step", TABLE)
def test_the_learning_rate_against_a_table(step: int) -> None:
    rate = learning_rate(step, total_steps=110, warmup_steps=10, peak=1.6, final=0.001)
    assert rate == pytest.approx(TABLE[step], rel=1e-12)


def test_without_warmup_the_rate_starts_at_its_peak() -> None:
    assert learning_rate(0, total_steps=5, warmup_steps=0, peak=2.0, final=0.0) == 2.0
