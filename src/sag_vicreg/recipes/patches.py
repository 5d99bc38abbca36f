"""What a vision transformer's recipe is checked by: patches that tile, masks that leave something.

Pure numbers, so that a recipe whose masks would leave nothing is refused before torch is loaded.
"""

import math
import re
from typing import TYPE_CHECKING, Any

from sag_vicreg.published import fewest_context_patches, visible_patches

if TYPE_CHECKING:
    from sag_vicreg.recipes.method_sections import IJEPASection
    from sag_vicreg.recipes.schema import Recipe


# Their decoders and predictors have a place for each patch of one size of image.
_OF_ONE_SIZE = ("mae", "i-jepa")


def patch_size(backbone_name: str, args: dict[str, Any]) -> int | None:
    """Side of a patch in pixels: from the arguments, else from timm's name; None without patches.

    Examples
    --------
    >>> patch_size("vit_base_patch16_224", {}), patch_size("resnet50", {})
    (16, None)
    """
    if "patch_size" in args:
        given = args["patch_size"]
        if not isinstance(given, int) or given < 1:
            raise ValueError(
                f"backbone.args.patch_size is {given!r}: it must be a whole number of pixels"
            )
        return given
    named = re.search(r"_patch(\d+)", backbone_name)
    return int(named.group(1)) if named else None


def check_patches(recipe: "Recipe") -> None:
    """Refuse, in one line, images that patches do not tile and masks that leave nothing."""
    method, backbone = recipe.method, recipe.backbone
    patch = patch_size(backbone.name, backbone.args)
    if patch is None:
        if method.name in _OF_ONE_SIZE:
            raise ValueError(
                f"method {method.name} masks patches and backbone {backbone.name} has none: "
                "choose a vision transformer, as vit_base_patch16_224"
            )
        return
    image = recipe.dataset.image_size
    _check_sizes(recipe, patch, image)
    side = image // patch
    if method.name in _OF_ONE_SIZE and backbone.args.get("patch_drop_rate"):
        raise ValueError(
            f"method {method.name} chooses its patches itself: leave backbone.args.patch_drop_rate "
            "out"
        )
    if method.name == "mae":
        _check_mask_ratio(side * side, method.mask_ratio)
        _check_width("decoder", method.decoder_dim, method.decoder_heads)
    if method.name == "i-jepa":
        _check_blocks(method, side)
        _check_width("predictor", method.predictor_dim, method.predictor_heads)
        if backbone.args.get("class_token", True):
            raise ValueError(
                "i-jepa encodes patches only: set backbone.args.class_token to false and "
                "backbone.args.global_pool to avg"
            )


def _check_sizes(recipe: "Recipe", patch: int, image: int) -> None:
    args = recipe.backbone.args
    local = recipe.views.local
    if image % patch:
        raise ValueError(
            f"dataset.image_size is {image} but a patch of {recipe.backbone.name} has {patch} "
            f"pixels: choose a multiple of {patch}, as {max(image // patch, 1) * patch}"
        )
    if local is not None and local.size % patch:
        raise ValueError(
            f"views.local.size is {local.size} but a patch has {patch} pixels: "
            f"choose a multiple of {patch}, as {max(local.size // patch, 1) * patch}"
        )
    dynamic = args.get("dynamic_img_size", False)
    if local is not None and not dynamic:
        raise ValueError(
            "local crops are smaller than the image: set backbone.args.dynamic_img_size to true"
        )
    named = re.search(r"_(\d+)(\.|$)", recipe.backbone.name)
    expected = args.get("img_size", int(named.group(1)) if named else image)
    if (not dynamic or recipe.method.name in _OF_ONE_SIZE) and expected != image:
        raise ValueError(
            f"dataset.image_size is {image} but backbone {recipe.backbone.name} takes {expected}: "
            f"set backbone.args.img_size to {image}"
        )


def _check_mask_ratio(patches: int, ratio: float) -> None:
    visible = visible_patches(patches, ratio)
    if not 0 < visible < patches:
        raise ValueError(
            f"method.mask_ratio is {ratio}, which leaves {visible} of {patches} patches visible: "
            "at least one must be visible and one masked, as with 0.75"
        )


def _check_blocks(section: "IJEPASection", side: int) -> None:
    for key in ("target_scale", "target_aspect", "context_scale"):
        low, high = getattr(section, key)
        if not 0 < low <= high < math.inf or (key != "target_aspect" and high > 1):
            raise ValueError(
                f"method.{key} is [{low}, {high}]: it must rise from above 0"
                + ("" if key == "target_aspect" else " to at most 1")
            )
    left = fewest_context_patches(
        side,
        target_scale=section.target_scale,
        target_aspect=section.target_aspect,
        context_scale=section.context_scale,
    )
    if left < section.min_context_patches:
        raise ValueError(
            f"method.target_scale up to {section.target_scale[1]} can leave a context of "
            f"{max(left, 0)} of {side * side} patches, fewer than method.min_context_patches "
            f"{section.min_context_patches}: lower target_scale or raise context_scale"
        )


def _check_width(part: str, width: int, heads: int) -> None:
    # Sine-cosine positions take a quarter of the width each: sine and cosine, row and column.
    if width % heads or width % 4:
        raise ValueError(
            f"method.{part}_dim is {width} with {heads} heads: it must be a multiple of "
            f"{math.lcm(heads, 4)}"
        )
