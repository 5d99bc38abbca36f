"""Bad vision-transformer recipes are one clear line, before torch is loaded."""

import subprocess
import sys

import pytest

from sag_vicreg.errors import InputError
from sag_vicreg.published import block_shape, visible_patches
from sag_vicreg.recipes import SCALES, load_recipe, recipe_names
from sag_vicreg.recipes.patches import patch_size

BAD = [
    ("mae", ["dataset.image_size=30"], "image_size is 30 .* multiple of 4, as 28"),
    ("mae", ["dataset.image_size=64"], "takes 32: set backbone.args.img_size to 64"),
    ("mae", ["method.mask_ratio=0.99"], "leaves 0 of 64 patches visible"),
    ("mae", ["method.decoder_dim=66"], "decoder_dim is 66 with 4 heads: .* multiple of 4"),
    ("i-jepa", ["method.predictor_heads=5"], "predictor_dim is 48 .* multiple of 20"),
    ("i-jepa", ["method.target_scale=[0.9, 0.95]"], "can leave a context of 0 of 64"),
    ("i-jepa", ["method.target_scale=[0.2, 0.15]"], "target_scale is .* must rise"),
    ("i-jepa", ["method.target_scale=[0.0, 0.1]"], "target_scale is .* must rise"),
    ("i-jepa", ["method.context_scale=[0.85, 1.5]"], "context_scale is .* at most 1"),
    ("i-jepa", ["method.min_context_patches=60"], "fewer than method.min_context_patches 60"),
    ("i-jepa", ["backbone.args.class_token=true"], "class_token to false"),
    ("dino", ["views.local.size=48"], "views.local.size is 48 but dataset.image_size is 32"),
    ("dino", ["views.local.size=18"], "multiple of 4, as 16"),
    ("dino", ["views.local.scale=[0.05, 1.4]"], "scale is .*1.4.* at most 1, the image"),
    ("dino", ["views.crop_scale=[0.9, 0.4]"], "must rise"),
    ("dino", ["backbone.args.dynamic_img_size=false"], "dynamic_img_size to true"),
    ("vicreg-vit", ["dataset.image_size=33"], "multiple of 4, as 32"),
]


@pytest.mark.parametrize(("method", "overrides", "message"), BAD)
def test_bad_recipes_are_one_line(method: str, overrides: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        load_recipe(f"cifar100/{method}", scale="cpu", overrides=overrides)
    assert "\n" not in str(caught.value)


def test_masking_needs_patches() -> None:
    for method in ("mae", "i-jepa"):
        with pytest.raises(InputError, match="resnet18 has none: choose a vision transformer"):
            load_recipe(f"cifar100/{method}", overrides=["backbone.name=resnet18"])


def test_the_check_needs_no_torch() -> None:
    code = (
        "import sys\n"
        "from sag_vicreg.recipes import load_recipe\n"
        "try: load_recipe('cifar100/mae', overrides=['dataset.image_size=225'])\n"
        "except ValueError as error: print(error)\n"
        "print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "image_size is 225" in done.stdout
    assert done.stdout.splitlines()[-1] == "False"


@pytest.mark.parametrize("scale", SCALES)
def test_every_packaged_recipe_passes(scale: str) -> None:
    for name in recipe_names():
        assert load_recipe(name, scale=scale).name == name


def test_dynamic_images_may_have_any_size_that_patches_tile() -> None:
    recipe = load_recipe("cifar100/dino", scale="cpu", overrides=["dataset.image_size=64"])
    assert recipe.dataset.image_size == 64


@pytest.mark.parametrize("method", ["mae", "i-jepa"])
def test_what_has_a_place_for_each_patch_takes_one_size_of_image(method: str) -> None:
    load_recipe(f"shapes/{method}", overrides=["backbone.args.dynamic_img_size=true"])
    overrides = ["backbone.args.dynamic_img_size=true", "dataset.image_size=40"]
    with pytest.raises(InputError, match=r"set backbone\.args\.img_size to 40"):
        load_recipe(f"shapes/{method}", scale="smoke", overrides=overrides)
    with pytest.raises(InputError, match=r"leave backbone\.args\.patch_drop_rate out"):
        load_recipe(f"shapes/{method}", overrides=["backbone.args.patch_drop_rate=0.25"])


def test_the_papers_settings_of_table_3() -> None:
    expected = {
        "dino": (120, 0.04),
        "mae": (200, 0.05),
        "i-jepa": (140, 0.04),
        "vicreg-vit": (200, 0.05),
        "sag-vicreg-vit": (200, 0.05),
    }
    for dataset in ("cifar100", "caltech256"):
        for method, (batch_size, weight_decay) in expected.items():
            recipe = load_recipe(f"{dataset}/{method}")
            assert recipe.backbone.name == "vit_base_patch16_224"
            assert recipe.optimizer.name == "adamw"
            assert (recipe.batch_size, recipe.optimizer.weight_decay) == (batch_size, weight_decay)
            assert (recipe.schedule.epochs, recipe.schedule.warmup_epochs) == (250, 10)


def test_the_arithmetic() -> None:
    assert patch_size("vit_small_patch14_dinov2", {}) == 14
    assert patch_size("vit_tiny_patch16_224", {"patch_size": 4}) == 4
    assert patch_size("resnet18", {}) is None
    assert visible_patches(196, 0.75) == 49
    assert block_shape(8, 1.0, 1.0) == (8, 8)
    assert block_shape(8, 0.5, 100.0) == (8, 1)
