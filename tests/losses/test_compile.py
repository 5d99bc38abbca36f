"""Under ``torch.compile`` the losses are one graph, and the same numbers."""

from typing import Any

import pytest
import torch

from sag_vicreg.errors import NotFiniteError
from sag_vicreg.losses import BarlowTwinsLoss, NTXentLoss, SAGVICRegLoss, TwoViewLoss, VICRegLoss
from sag_vicreg.pairing import Pairs, RandomWalkPairing

DRAWN = {"uniforms": torch.linspace(0, 0.99, 24)}
LOSSES: dict[str, tuple[TwoViewLoss, dict[str, Any]]] = {
    "vicreg": (VICRegLoss(), {}),
    "sag-vicreg": (SAGVICRegLoss(k=5), DRAWN),
    "own view": (SAGVICRegLoss(k=5, around="own_view", scale_over="neighbors"), DRAWN),
    "literal": (SAGVICRegLoss(k=5, around="view", scale_over="batch"), DRAWN),
    "given pairs": (SAGVICRegLoss(), {"pairs": Pairs(torch.arange(24).flip(0), torch.ones(24))}),
    "barlow-twins": (BarlowTwinsLoss(pairing=RandomWalkPairing()), DRAWN),
    "nt-xent": (NTXentLoss(pairing=RandomWalkPairing()), DRAWN),
}


# Wider than the batch is long, VICReg and Barlow Twins need no d x d matrix, and build none.
WIDE = ("vicreg", "sag-vicreg", "barlow-twins")


@pytest.mark.parametrize(
    ("name", "width"), [*((name, 16) for name in LOSSES), *((name, 32) for name in WIDE)]
)
def test_a_loss_is_one_graph_and_the_same_numbers(name: str, width: int) -> None:
    loss, options = LOSSES[name]
    torch.compiler.reset()
    views = torch.randn(2, 24, width, generator=torch.Generator().manual_seed(0))
    views[0, 3] = 0  # a zero row has no direction
    totals, gradients = [], []
    compiled = torch.compile(loss, fullgraph=True, backend="aot_eager")
    for call in (loss, compiled):
        z, z_prime = (view.clone().requires_grad_() for view in views)
        terms = call(z, z_prime, **options)
        terms.backward()
        totals.append(terms.total.detach())
        gradients.append(torch.stack((z.grad, z_prime.grad)))  # type: ignore[arg-type]
    torch.testing.assert_close(*totals)
    torch.testing.assert_close(*gradients)


def test_broken_values_are_named_without_compilation_only() -> None:
    torch.compiler.reset()
    z = torch.randn(24, 8)
    z[2, 2] = torch.nan
    with pytest.raises(NotFiniteError):
        SAGVICRegLoss()(z, z, **DRAWN)
    compiled = torch.compile(SAGVICRegLoss(), fullgraph=True, backend="aot_eager")
    assert compiled(z, z, **DRAWN).total.isnan()


def test_terms_go_backward() -> None:
    z, z_prime = (torch.randn(16, 8, requires_grad=True) for _ in range(2))
    terms = VICRegLoss()(z, z_prime)
    (expected,) = torch.autograd.grad(terms.total, z, retain_graph=True)
    terms.backward()
    assert z.grad is not None
    torch.testing.assert_close(z.grad, expected)
