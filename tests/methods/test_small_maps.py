"""Small-map convolutions against ``nn.Conv2d``."""

import pytest
import torch
from torch import nn

from sag_vicreg.methods import make_backbone
from sag_vicreg.methods.small_maps import SmallMapConv2d

import timm  # isort: skip  # after the package, which declares torchvision's operators


def twins(**settings: int) -> tuple[nn.Conv2d, SmallMapConv2d]:
    torch.manual_seed(0)
    stock = nn.Conv2d(3, 5, dtype=torch.float64, **settings)  # type: ignore[arg-type]
    return stock, SmallMapConv2d.like(stock)


def gradients(layer: nn.Conv2d, images: torch.Tensor) -> list[torch.Tensor]:
    out = layer(images)
    weighed = (out * torch.arange(out.numel(), dtype=out.dtype).view(out.shape).sin()).sum()
    return [out, *torch.autograd.grad(weighed, [images, *layer.parameters()])]


SHAPES = [
    (height, width, stride, kernel, padding)
    for height in (1, 2, 3, 4)
    for width in (1, 2, 5)
    for stride in (1, 2)
    for kernel, padding in ((3, 1), (3, 0), (5, 2), (2, 1))
    if min(height, width) + 2 * padding >= kernel
]


@pytest.mark.parametrize(("height", "width", "stride", "kernel", "padding"), SHAPES)
def test_outputs_and_gradients_are_those_of_the_stock_layer(
    height: int, width: int, stride: int, kernel: int, padding: int
) -> None:
    stock, small = twins(kernel_size=kernel, stride=stride, padding=padding)
    images = torch.randn(4, 3, height, width, dtype=torch.float64, requires_grad=True)
    for ours, theirs in zip(gradients(small, images), gradients(stock, images), strict=True):
        torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("size", [1, 2])
def test_small_maps_take_the_matrix_and_keep_channels_last(
    size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, small = twins(kernel_size=3, padding=1)
    monkeypatch.setattr(nn.Conv2d, "forward", None)
    images = torch.randn(4, 3, size, size, dtype=torch.float64)
    out = small(images.contiguous(memory_format=torch.channels_last))
    assert out.is_contiguous(memory_format=torch.channels_last)


def test_a_backbone_keeps_its_names_its_weights_and_its_features() -> None:
    torch.manual_seed(0)
    ours = make_backbone("resnet18").eval()
    torch.manual_seed(0)
    stock = timm.create_model("resnet18", num_classes=0).eval()
    assert sum(isinstance(layer, SmallMapConv2d) for layer in ours.modules()) == 17
    for (name, weight), (stock_name, stock_weight) in zip(
        ours.state_dict().items(), stock.state_dict().items(), strict=True
    ):
        assert name == stock_name
        assert torch.equal(weight, stock_weight)
    images = torch.randn(6, 3, 32, 32)
    torch.testing.assert_close(ours(images), stock(images))
