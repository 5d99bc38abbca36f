"""Views: torchvision's numbers image by image, the published odds, and one draw per image."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor
from torchvision.transforms import InterpolationMode, RandomResizedCrop
from torchvision.transforms import functional as tv

from sag_vicreg.data import load_dataset, make_views, normalize
from sag_vicreg.data.views import VIEW_KINDS, ViewRecipe, Views, denormalize
from sag_vicreg.data.views.blur import gaussian_blur
from sag_vicreg.data.views.colour import BRIGHTNESS, CONTRAST, HUE, SATURATION, jitter, solarise
from sag_vicreg.data.views.crops import CropDraw, crop_resize
from sag_vicreg.errors import InputError


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.fixture(scope="module")
def images() -> Tensor:
    return load_dataset("shapes", split="test", max_images=96).images


@pytest.fixture(scope="module")
def photographs() -> Tensor:
    """Larger than the views and not square; smooth, as photographs are."""
    coarse = torch.rand(24, 3, 12, 18, generator=generator())
    smooth = torch.nn.functional.interpolate(coarse, (96, 144), mode="bicubic").clamp(0, 1)
    return (smooth * 255).to(torch.uint8)


# One image at a time in torchvision is what a batch must equal.


@pytest.mark.parametrize("size", [32, 20, 48])
@pytest.mark.parametrize("source", ["images", "photographs"])
def test_crops_are_torchvisions(request: pytest.FixtureRequest, source: str, size: int) -> None:
    batch = request.getfixturevalue(source)
    draw = CropDraw(
        torch.rand(len(batch), CropDraw.COLUMNS, generator=generator()), size, (0.08, 1.0)
    )
    boxes = draw.boxes(*batch.shape[-2:])
    flip = torch.rand(len(batch), generator=generator(1)) < 0.5
    crops = crop_resize(batch, boxes, flip, size)
    for image, box, mirrored, crop in zip(batch, boxes.tolist(), flip, crops, strict=True):
        expected = tv.resized_crop(
            image.float() / 255, *box, [size, size], InterpolationMode.BICUBIC, antialias=True
        ).clamp(0, 1)
        if mirrored:
            expected = tv.hflip(expected)
        torch.testing.assert_close(crop, expected, atol=2e-5, rtol=0)


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 2, 1, 0), (2, 0, 3, 1)])
def test_jitter_is_torchvisions_in_any_order(images: Tensor, order: tuple[int, ...]) -> None:
    """Also where images of one batch have different orders, half of them another than the other."""
    pixels = images / 255
    n = len(images)
    factors = torch.rand(n, 4, generator=generator()) * 1.2 + 0.4
    factors[:, HUE] = torch.rand(n, generator=generator(1)) - 0.5
    orders = torch.tensor(order).repeat(n, 1)
    orders[::2] = torch.tensor([1, 3, 0, 2])
    changes = {
        BRIGHTNESS: tv.adjust_brightness,
        CONTRAST: tv.adjust_contrast,
        SATURATION: tv.adjust_saturation,
        HUE: tv.adjust_hue,
    }
    for row, jittered in enumerate(jitter(pixels.clone(), factors, orders)):
        expected = pixels[row]
        for change in orders[row].tolist():
            expected = changes[change](expected, factors[row, change].item())
        torch.testing.assert_close(jittered, expected, atol=2e-4, rtol=0)


def test_hue_leaves_grey_grey_and_a_full_turn_changes_nothing() -> None:
    grey = torch.linspace(0, 1, 64).view(1, 1, 8, 8).expand(1, 3, 8, 8)
    hue_only = torch.tensor([[1.0, 1.0, 1.0, 0.37]])
    torch.testing.assert_close(jitter(grey.clone(), hue_only, torch.tensor([[0, 1, 2, 3]])), grey)
    colours = torch.rand(5, 3, 8, 8, generator=generator())
    full_turn = torch.tensor([[1.0, 1.0, 1.0, 1.0]]).expand(5, 4)
    turned = jitter(colours.clone(), full_turn, torch.tensor([[0, 1, 2, 3]]).expand(5, 4))
    torch.testing.assert_close(turned, colours, atol=1e-5, rtol=0)


def test_blur_is_torchvisions(photographs: Tensor) -> None:
    pixels = photographs[:, :, :64, :64] / 255
    sigma = torch.linspace(0.05, 3, len(pixels))
    for image, width, blurred in zip(pixels, sigma, gaussian_blur(pixels, sigma), strict=True):
        expected = tv.gaussian_blur(image, [41, 41], [width.item()] * 2)
        torch.testing.assert_close(blurred, expected, atol=1e-4, rtol=0)


def test_solarise_is_torchvisions(images: Tensor) -> None:
    expected = tv.solarize(images, 128) / 255
    torch.testing.assert_close(solarise(images / 255), expected, atol=1e-6, rtol=0)


def test_normalize_is_torchvisions_and_can_be_undone(images: Tensor) -> None:
    expected = tv.normalize(images / 255, [0.485, 0.456, 0.406], [0.229, 0.224, 0.225])
    torch.testing.assert_close(normalize(images), expected, atol=1e-5, rtol=0)
    torch.testing.assert_close(normalize(images / 255), expected, atol=1e-5, rtol=0)
    assert torch.equal(denormalize(expected), images)


def test_grey_views_are_grey(images: Tensor) -> None:
    recipe = ViewRecipe(32, grey=1.0)
    view = denormalize(recipe.make(images, recipe.draw(len(images), generator()))).int()
    assert (view[:, :1] - view).abs().max() <= 1


# The odds.


def share(happens: Tensor) -> float:
    return happens.float().mean().item()


def test_official_vicreg_odds_and_ranges() -> None:
    n = 20_000
    first, second = make_views("vicreg", 32).draw(n, generator())
    odds = {"flip": (0.5, 0.5), "jitter": (0.8, 0.8), "grey": (0.2, 0.2)}
    odds |= {"blur": (1.0, 0.1), "solarise": (0.0, 0.2)}
    for name, (p, q) in odds.items():
        assert share(getattr(first, name)) == pytest.approx(p, abs=0.015), name
        assert share(getattr(second, name)) == pytest.approx(q, abs=0.015), name
    reach = torch.tensor([0.4, 0.4, 0.2, 0.1])
    centre = torch.tensor([1.0, 1.0, 1.0, 0.0])
    farthest = (first.factors - centre).abs().amax(dim=0)
    assert torch.all(farthest <= reach + 1e-6)
    assert torch.all(farthest > 0.99 * reach)
    torch.testing.assert_close(first.factors.mean(dim=0), centre, atol=0.01, rtol=0)
    assert 0.1 * 32 / 224 <= first.sigma.min() < 0.02
    assert 0.28 < first.sigma.max() <= 2.0 * 32 / 224
    # Each of the 24 orders equally often.
    orders, counts = torch.unique(first.order, dim=0, return_counts=True)
    assert len(orders) == 24
    assert counts.min() > 0.85 * n / 24


@pytest.mark.parametrize(("size", "strength"), [(32, 0.5), (64, 0.5), (96, 1.0), (224, 1.0)])
def test_simclrs_odds_and_its_half_strength_on_small_images(size: int, strength: float) -> None:
    for drawn in make_views("simclr", size).draw(20_000, generator()):
        odds = {"flip": 0.5, "jitter": 0.8, "grey": 0.2, "blur": 0.5, "solarise": 0.0}
        for name, p in odds.items():
            assert share(getattr(drawn, name)) == pytest.approx(p, abs=0.015), name
        reach = strength * torch.tensor([0.8, 0.8, 0.8, 0.2])
        centre = torch.tensor([1.0, 1.0, 1.0, 0.0])
        farthest = (drawn.factors - centre).abs().amax(dim=0)
        assert torch.all(farthest <= reach + 1e-6)
        assert torch.all(farthest > 0.99 * reach)


def test_sigma_is_the_published_one_at_the_published_size() -> None:
    assert make_views("vicreg", 224).recipes[0].sigma == (0.1, 2.0)
    assert make_views("vicreg", 448).recipes[0].sigma == (0.1, 2.0)


@pytest.mark.parametrize("shape", [(32, 32), (96, 144), (500, 60)])
def test_boxes_are_distributed_as_torchvisions(shape: tuple[int, int]) -> None:
    n, scale = 4000, (0.08, 1.0)
    height, width = shape
    drawn = CropDraw(torch.rand(n, CropDraw.COLUMNS, generator=generator()), 32, scale)
    boxes = drawn.boxes(height, width).float()
    torch.manual_seed(0)
    image = torch.empty(3, height, width)
    peer = torch.tensor(
        [RandomResizedCrop.get_params(image, list(scale), [3 / 4, 4 / 3]) for _ in range(n)]
    ).float()
    top, left, h, w = boxes.unbind(dim=1)
    assert torch.all((top >= 0) & (left >= 0) & (top + h <= height) & (left + w <= width))
    for quantile in (0.05, 0.25, 0.5, 0.75, 0.95):
        ours, theirs = (values.quantile(quantile, dim=0) for values in (boxes, peer))
        torch.testing.assert_close(ours, theirs, atol=0.04 * max(shape), rtol=0)
    ours, theirs = ((values[:, 2] * values[:, 3]).mean() for values in (boxes, peer))
    assert ours.item() == pytest.approx(theirs.item(), rel=0.04)


def test_crops_cover_the_share_asked_for() -> None:
    draw = CropDraw(torch.rand(5000, CropDraw.COLUMNS, generator=generator()), 32, (0.4, 0.6))
    area = draw.boxes(200, 200)[:, 2:].prod(dim=1) / 200**2
    assert 0.39 < area.min() < 0.41
    assert 0.59 < area.max() < 0.61


# One draw per image, from the generator alone.


def test_equal_images_get_different_views(images: Tensor) -> None:
    same = images[:1].expand(64, -1, -1, -1)
    for view in make_views("vicreg", 32)(same, generator=generator()):
        assert len(torch.unique(view.flatten(1), dim=0)) == 64


def test_the_two_views_are_drawn_independently() -> None:
    first, second = make_views("simclr", 32).draw(20_000, generator())
    for name in ("flip", "jitter", "grey", "blur"):
        a, b = getattr(first, name).float(), getattr(second, name).float()
        assert torch.corrcoef(torch.stack([a, b]))[0, 1].abs() < 0.03
    a, b = first.crop.uniforms.flatten(), second.crop.uniforms.flatten()
    assert torch.corrcoef(torch.stack([a, b]))[0, 1].abs() < 0.01


def test_a_view_of_an_image_does_not_depend_on_its_neighbours(images: Tensor) -> None:
    views = make_views("vicreg", 32)
    others = images.flip(0).clone()
    others[5] = images[5]
    for here, there in zip(
        views(images, generator=generator()), views(others, generator=generator()), strict=True
    ):
        torch.testing.assert_close(here[5], there[5], atol=1e-5, rtol=0)


@pytest.mark.parametrize("kind", VIEW_KINDS)
@pytest.mark.parametrize("processes", [2, 3, 5])
def test_processes_together_see_what_one_sees(images: Tensor, kind: str, processes: int) -> None:
    views = make_views(kind, 32, local_views=2)
    n = len(images)
    alone = views(images, generator=generator(7))
    parts = []
    for rank in range(processes):
        rows = slice(n * rank // processes, n * (rank + 1) // processes)
        draws = [draw[rows] for draw in views.draw(n, generator(7))]
        parts.append(views.make(images[rows], draws))
    for whole, pieces in zip(alone, zip(*parts, strict=True), strict=True):
        torch.testing.assert_close(torch.cat(pieces), whole, atol=1e-5, rtol=0)


def test_equal_generators_make_equal_views_and_others_do_not(images: Tensor) -> None:
    views = make_views("dino", 32)
    first, again, other = (views(images, generator=generator(s)) for s in (1, 1, 2))
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
    assert not any(torch.equal(a, b) for a, b in zip(first, other, strict=True))


def test_global_randomness_is_left_alone(images: Tensor) -> None:
    torch.manual_seed(3)
    expected = torch.rand(4)
    torch.manual_seed(3)
    make_views("vicreg", 32)(images, generator=generator())
    assert torch.equal(torch.rand(4), expected)


# The kinds.


def test_kinds_have_their_shapes(images: Tensor) -> None:
    sizes = {
        "vicreg": [32, 32],
        "barlow-twins": [32, 32],
        "simclr": [32, 32],
        "dino": [32, 32] + [12] * 8,
        "crop": [32],
        "i-jepa": [32],
    }
    assert set(sizes) == set(VIEW_KINDS)
    for kind, expected in sizes.items():
        views = make_views(kind, 32)(images[:4], generator=generator())
        assert [tuple(view.shape) for view in views] == [(4, 3, size, size) for size in expected]
        assert all(view.dtype == torch.float32 and view.is_contiguous() for view in views)


def test_dino_at_the_published_size() -> None:
    views = make_views("dino", 224)
    assert [recipe.size for recipe in views.recipes] == [224, 224] + [96] * 8
    first, second, *local = views.recipes
    assert first.crop_scale == second.crop_scale == (0.4, 1.0)
    assert {recipe.crop_scale for recipe in local} == {(0.05, 0.4)}
    assert (first.blur, second.blur, local[0].blur) == (1.0, 0.1, 0.5)
    assert (first.solarise, second.solarise, local[0].solarise) == (0.0, 0.2, 0.0)


def test_single_crops_keep_their_colours(images: Tensor) -> None:
    (recipe,) = make_views("crop", 32, crop_scale=(0.3, 1.0)).recipes
    assert recipe == ViewRecipe(32, (0.3, 1.0), flip=0.5)
    assert make_views("i-jepa", 32).recipes == (ViewRecipe(32, (0.3, 1.0), flip=0.0),)
    whole = replace(recipe, crop_scale=(1.0, 1.0), flip=0.0)
    draw = whole.draw(len(images), generator())
    square = draw.crop.boxes(32, 32)[:, 2:].eq(32).all(dim=1)
    assert square.any()
    assert torch.equal(denormalize(whole.make(images, draw))[square], images[square])


def test_views_of_images_on_disk_are_those_in_memory(images: Tensor) -> None:
    """Crops cut by Pillow differ by what it rounds, and rarely clips, between its two passes."""
    data = load_dataset("shapes", split="test", max_images=96)
    views = make_views("crop", 32)
    draws = views.draw(len(data), generator())
    (here,) = views.make(data.images, draws)
    (there,) = views.finish(data.crops(range(len(data)), draws), draws)
    apart = (denormalize(here).int() - denormalize(there).int()).abs()
    assert (apart > 1).float().mean() < 0.005
    assert apart.float().mean() < 0.5


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: make_views("vicregg", 32), "did you mean 'vicreg'"),
        (lambda: make_views("vicreg", 0), "views of 0 px cannot be made"),
        (lambda: make_views("crop", 32, crop_scale=(0.5, 0.2)), "crop_scale is"),
        (
            lambda: make_views("crop", 8)(torch.zeros(2, 3, 8, 8), generator=generator()),
            r"uint8 images \(n, 3, h, w\), not torch.float32 \(2, 3, 8, 8\)",
        ),
    ],
)
def test_mistakes_are_named(call: object, message: str) -> None:
    assert callable(call)
    with pytest.raises(InputError, match=message):
        call()


@pytest.mark.parametrize("n", [2, 8])
def test_a_batch_that_turns_grey_as_a_whole_is_blurred_in_part(images: Tensor, n: int) -> None:
    """Grey images are one channel seen three times: what writes into them needs them apart."""
    view = ViewRecipe(32, grey=1.0, blur=0.5, solarise=0.5)
    for seed in range(8):
        (seen,) = Views((view,))(images[:n], generator=generator(seed))
        assert seen.isfinite().all()
