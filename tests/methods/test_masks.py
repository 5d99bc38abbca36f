"""Mask geometry: MAE's ratio, I-JEPA's rectangles, and targets never inside the context."""

from typing import Any

import pytest
import torch
from torch import Tensor

from sag_vicreg.methods.masks import multiblock_masks, random_masks
from sag_vicreg.published import block_shape, fewest_context_patches
from sag_vicreg.recipes.method_sections import IJEPASection

SIZES = ("target_scale", "target_aspect", "context_scale")


def blocks(**options: object) -> dict[str, Any]:
    section = IJEPASection.model_validate({"name": "i-jepa", **options})
    return section.model_dump(include={*SIZES, "target_blocks", "min_context_patches"})


def guaranteed(side: int, options: dict[str, Any]) -> int:
    return fewest_context_patches(side, **{name: options[name] for name in SIZES})


def generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_mae_shows_a_quarter_and_hides_the_rest() -> None:
    visible, masked = random_masks(50, 64, mask_ratio=0.75, generator=generator(0))
    assert visible.shape == (50, 16)
    everything = torch.cat((visible, masked), dim=1).sort(dim=1).values
    torch.testing.assert_close(everything, torch.arange(64).expand(50, 64))
    # Every patch has the same chance: 50 images show each about 12.5 times.
    shown = torch.bincount(visible.flatten(), minlength=64)
    assert shown.min() > 2
    assert shown.max() < 28


@pytest.mark.parametrize("side", [8, 14])
@pytest.mark.parametrize("seed", range(20))
def test_targets_are_never_inside_the_context(side: int, seed: int) -> None:
    options = blocks()
    masks = multiblock_masks(64, side, **options, generator=generator(seed))
    assert masks.targets.shape[:2] == (4, 64)
    assert masks.context.shape[1] >= options["min_context_patches"]
    context = torch.zeros(64, side * side, dtype=torch.bool).scatter_(1, masks.context, True)
    assert context.sum() == masks.context.numel()  # no patch twice
    for block in masks.targets:
        assert not context.gather(1, block).any()


@pytest.mark.parametrize("side", [8, 14])
def test_targets_are_rectangles_of_the_asked_size_that_reach_every_edge(side: int) -> None:
    shapes, top, bottom = set(), side, 0
    for seed in range(60):
        masks = multiblock_masks(16, side, **blocks(), generator=generator(seed))
        for block in masks.targets.reshape(64, -1):
            row, column = block // side, block % side
            height, width = _extent(row), _extent(column)
            assert height * width == len(block)
            shapes.add((height, width))
            top, bottom = min(top, int(row.min())), max(bottom, int(row.max()))
    assert (top, bottom) == (0, side - 1)
    share = [height * width / side**2 for height, width in shapes]
    assert min(share) > 0.13  # 0.15 to 0.2, rounded to whole patches
    assert max(share) < 0.22
    assert len(shapes) >= 3


def _extent(places: Tensor) -> int:
    return int(places.max() - places.min()) + 1


def test_without_targets_in_the_way_the_context_covers_its_scale() -> None:
    masks = multiblock_masks(
        8,
        14,
        **blocks(target_blocks=1, target_scale=[0.005, 0.005], target_aspect=[1, 1]),
        generator=generator(0),
    )
    assert 0.85 * 196 - 14 < masks.context.shape[1] <= 196


def test_crowded_grids_end_with_targets_on_one_place() -> None:
    """Blocks of 4 x 4 on 8 x 8, and a context that only one of them may cut into."""
    crowded = blocks(target_scale=[0.25, 0.25], target_aspect=[1, 1], min_context_patches=33)
    assert guaranteed(8, crowded) == 33
    masks = multiblock_masks(64, 8, **crowded, generator=generator(0))
    assert masks.context.shape[1] >= 33
    context = torch.zeros(64, 64, dtype=torch.bool).scatter_(1, masks.context, True)
    assert not any(context.gather(1, block).any() for block in masks.targets)


def test_trimming_is_even_over_the_grid() -> None:
    """Top and bottom halves keep their patches alike; the official trim drops the bottom."""
    above = below = 0
    for seed in range(100):
        masks = multiblock_masks(32, 8, **blocks(), generator=generator(seed))
        above += int((masks.context < 32).sum())
        below += int((masks.context >= 32).sum())
    assert 0.9 < above / below < 1.1


def test_masks_follow_the_generator_and_rows_are_slices() -> None:
    one = multiblock_masks(12, 8, **blocks(), generator=generator(7))
    two = multiblock_masks(12, 8, **blocks(), generator=generator(7))
    torch.testing.assert_close(one.context, two.context)
    torch.testing.assert_close(one.targets, two.targets)
    part = two.rows(slice(4, 8))
    torch.testing.assert_close(part.context, one.context[4:8])
    torch.testing.assert_close(part.targets, one.targets[:, 4:8])


@pytest.mark.parametrize("side", [2, 3, 5, 8, 14])
def test_the_guaranteed_context_is_the_least_over_all_shapes(side: int) -> None:
    options = blocks()
    low, high = options["target_aspect"]
    areas = [
        height * width
        for step in range(2001)
        for height, width in [block_shape(side, 0.2, low + (high - low) * step / 2000)]
    ]
    context = block_shape(side, 0.85, 1.0)
    assert guaranteed(side, options) == context[0] * context[1] - max(areas)
