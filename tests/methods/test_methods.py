"""Methods against their papers' reference losses, and the base they share."""

from collections.abc import Iterator

import pytest
import torch
from torch import Tensor

from sag_vicreg.errors import InputError
from sag_vicreg.losses import (
    BarlowTwinsLoss,
    LossTerms,
    NTXentLoss,
    SAGVICRegLoss,
    VICRegLoss,
)
from sag_vicreg.methods import Method, Moment, make_backbone, make_method
from sag_vicreg.methods.heads import expander, projector
from sag_vicreg.pairing import RandomWalkPairing
from sag_vicreg.recipes import load_recipe

TWO_VIEW = ("vicreg", "sag-vicreg", "simclr", "barlow-twins")


def moment(step: int = 0, total_steps: int = 10, n: int = 16) -> Moment:
    return Moment(
        seed=3, epoch=0, step=step, total_steps=total_steps, batch_size=n, rows=slice(0, n)
    )


def views(n: int = 16, seed: int = 0) -> list[Tensor]:
    return list(torch.randn(2, n, 3, 32, 32, generator=torch.Generator().manual_seed(seed)))


def smoke(method: str, *overrides: str) -> Method:
    torch.manual_seed(0)
    return make_method(load_recipe(f"shapes/{method}", scale="smoke", overrides=overrides))


@pytest.mark.parametrize("name", TWO_VIEW)
def test_every_method_gives_named_terms_and_gradients_everywhere(name: str) -> None:
    method = smoke(name)
    terms = method(views(), moment(step=9))
    assert isinstance(terms, LossTerms)
    assert "nontrivial" in terms.parts
    terms.total.backward()
    for parameter, values in method.named_parameters():
        assert values.grad is not None, parameter
        assert values.grad.isfinite().all()


def from_parts(name: str) -> Method:
    """The smoke recipes by hand: modules and numbers, no recipe."""
    from sag_vicreg import methods

    torch.manual_seed(1)
    backbone = make_backbone("resnet18", {"layers": [1] * 4, "channels": [8, 16, 32, 64]})
    head = expander(64, (64, 64, 64))
    if name == "vicreg":
        return methods.VICReg(backbone, head, VICRegLoss())
    if name == "sag-vicreg":
        return methods.SAGVICReg(backbone, head, SAGVICRegLoss(k=5))
    pairing = RandomWalkPairing(k=5, walk_after=0.5)
    if name == "simclr":
        loss = NTXentLoss(temperature=0.5, pairing=pairing)
        return methods.SimCLR(backbone, projector(64, (64, 64)), loss)
    return methods.BarlowTwins(backbone, head, BarlowTwinsLoss(pairing=pairing))


@pytest.mark.parametrize("name", TWO_VIEW)
def test_a_method_built_from_parts_is_the_recipes(name: str) -> None:
    peer = ["method.pairing=random_walk"] if name in ("simclr", "barlow-twins") else []
    recipes, parts = smoke(name, *peer), from_parts(name)
    assert type(recipes) is type(parts)
    parts.load_state_dict(recipes.state_dict())
    for step in (4, 5):
        assert torch.equal(parts(views(), moment(step)).total, recipes(views(), moment(step)).total)


def test_every_method_of_a_recipe_is_found_by_the_name_of_its_class() -> None:
    import sag_vicreg.methods
    from sag_vicreg.recipes.method_sections import METHODS

    for name, section in METHODS.items():
        _, _, class_name = section.implementation.partition(":")
        assert type(smoke(name)) is getattr(sag_vicreg.methods, class_name)
    with pytest.raises(AttributeError, match="no attribute 'Nobody'"):
        _ = sag_vicreg.methods.Nobody


def test_a_vicreg_step_equals_lightlys_on_the_same_weights_and_views() -> None:
    from lightly.loss import VICRegLoss

    method = smoke("vicreg")
    terms = method(views(), moment())
    terms.total.backward()
    gradients = [p.grad.clone() for p in method.parameters() if p.grad is not None]
    method.zero_grad()
    z, z_prime = (method.head(method.backbone(view)) for view in views())  # type: ignore[operator]
    loss = VICRegLoss()(z, z_prime)
    loss.backward()
    torch.testing.assert_close(terms.total, loss, rtol=1e-5, atol=1e-5)
    for ours, parameter in zip(gradients, method.parameters(), strict=True):
        torch.testing.assert_close(ours, parameter.grad, rtol=1e-4, atol=1e-5)


def test_sag_vicreg_is_vicreg_until_the_walk_starts() -> None:
    plain, walked = smoke("vicreg"), smoke("sag-vicreg", "method.walk_after=0.5")
    before = walked(views(), moment(step=4))
    assert torch.equal(before.total, plain(views(), moment(step=4)).total)
    assert before.parts["nontrivial"] == 0
    after = walked(views(), moment(step=5))
    assert after.parts["nontrivial"] > 0
    assert not torch.equal(after.total, before.total)


def test_the_walk_is_a_function_of_the_moment() -> None:
    walked = smoke("sag-vicreg", "method.walk_after=0.0").eval()
    first, again, later = (walked(views(), moment(step=s)).total for s in (1, 1, 2))
    assert torch.equal(first, again)
    assert not torch.equal(first, later)


@pytest.mark.parametrize("name", ["simclr", "barlow-twins"])
def test_sag_goes_in_front_of_the_other_methods(name: str) -> None:
    plain = smoke(name)
    walked = smoke(name, "method.pairing=random_walk", "method.walk_after=0.5")
    start = walked(views(), moment(step=4))
    assert torch.equal(start.total, plain(views(), moment(step=4)).total)
    assert plain(views(), moment(step=9)).parts["nontrivial"] == 0
    assert walked(views(), moment(step=9)).parts["nontrivial"] > 0


def test_the_walk_starts_once_so_much_of_training_is_done() -> None:
    late = smoke("sag-vicreg", "method.walk_after=0.2")
    left = [float(late(views(), moment(step=step)).parts["nontrivial"]) for step in (0, 1, 2, 9)]
    assert left[:2] == [0, 0]
    assert min(left[2:]) > 0


def test_the_expander_is_the_official_one() -> None:
    layers = list(expander(16, (32, 64, 8)).layers)  # type: ignore[arg-type]
    kinds = [type(layer).__name__ for layer in layers]
    assert kinds == ["Linear", "BatchNorm1d", "ReLU"] * 2 + ["Linear"]
    linears = [layer for layer in layers if isinstance(layer, torch.nn.Linear)]
    assert [(x.in_features, x.out_features) for x in linears] == [(16, 32), (32, 64), (64, 8)]
    assert [x.bias is not None for x in linears] == [True, True, False]
    head = list(projector(16, (32, 8)).layers)  # type: ignore[arg-type]
    assert type(head[-1]).__name__ == "BatchNorm1d"


def blocks(model: torch.nn.Module) -> Iterator[torch.nn.Module]:
    return (m for m in model.modules() if type(m).__name__ in ("BasicBlock", "Bottleneck"))


@pytest.mark.parametrize(("name", "n_blocks"), [("resnet18", 8), ("resnet50", 16)])
def test_residual_branches_start_at_zero(name: str, n_blocks: int) -> None:
    found = list(blocks(make_backbone(name)))
    assert len(found) == n_blocks
    for block in found:
        last = block.bn3 if hasattr(block, "bn3") else block.bn2
        assert isinstance(last, torch.nn.BatchNorm2d)
        assert not last.weight.any()


def test_an_unknown_backbone_and_arguments_it_does_not_take() -> None:
    with pytest.raises(InputError, match="did you mean 'resnet34'"):
        make_backbone("resnet_34")
    with pytest.raises(InputError, match="does not take backbone"):
        make_backbone("resnet18", {"colour": "red"})
    with pytest.raises(InputError, match="does not take backbone"):
        make_backbone("resnet18", {"norm_layer": "foo"})


def test_streams_and_places_are_independent() -> None:
    here = moment()
    draws = {
        "views": torch.rand(4, generator=here.generator("views")),
        "walk": torch.rand(4, generator=here.generator("walk")),
        "later": torch.rand(4, generator=moment(step=1).generator("views")),
    }
    assert len({tuple(draw.tolist()) for draw in draws.values()}) == 3
    assert torch.equal(draws["views"], torch.rand(4, generator=here.generator("views")))
