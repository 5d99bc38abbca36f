"""Recipes: the paper's numbers, the merge, and one clear line for every mistake."""

import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sag_vicreg.errors import InputError
from sag_vicreg.recipes import SCALES, Recipe, load_recipe, recipe_names
from sag_vicreg.recipes.schema import CROP_SCALES, ViewsSection


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", recipe_names())
def test_every_packaged_recipe_is_valid_and_survives_its_own_yaml(
    name: str, scale: str, tmp_path: Path
) -> None:
    recipe = load_recipe(name, scale=scale)
    assert (recipe.name, recipe.scale) == (name, scale)
    (tmp_path / "recipe.yaml").write_text(recipe.to_yaml())
    again = load_recipe(tmp_path / "recipe.yaml")
    assert again == recipe
    assert again.digest() == recipe.digest()


# dataset/method: backbone, widths, epochs, batch, optimiser, weight decay
PAPER = {
    "imagenet100/sag-vicreg": ("resnet50", (8192,) * 3, 300, 256, "lars", 1e-6),
    "cifar100/sag-vicreg": ("resnet34", (1024,) * 3, 500, 200, "lars", 1e-6),
    "caltech256/vicreg": ("resnet50", (8192,) * 3, 500, 200, "lars", 1e-6),
    "imagenet1k/vicreg": ("resnet50", (8192,) * 3, 120, 256, "lars", 1e-6),
    "cifar100/vicreg-vit": ("vit_base_patch16_224", (3072,) * 3, 250, 200, "adamw", 0.05),
    "imagenet100/dino": ("vit_base_patch16_224", None, 250, 120, "adamw", 0.04),
    "caltech256/mae": ("vit_base_patch16_224", None, 250, 200, "adamw", 0.05),
    "cifar100/i-jepa": ("vit_base_patch16_224", None, 250, 140, "adamw", 0.04),
}


@pytest.mark.parametrize("name", PAPER)
def test_the_papers_settings(name: str) -> None:
    recipe = load_recipe(name)
    assert PAPER[name] == (
        recipe.backbone.name,
        getattr(recipe.method, "expander", None),
        recipe.schedule.epochs,
        recipe.batch_size,
        recipe.optimizer.name,
        recipe.optimizer.weight_decay,
    )
    assert recipe.schedule.warmup_epochs == 10
    assert recipe.schedule.final_lr == 0.001


def test_walk_and_weights_are_the_papers_and_the_cpu_scale_waits_half_way() -> None:
    method = load_recipe("cifar100/sag-vicreg").method
    assert method.model_dump() == {
        "name": "sag-vicreg",
        "expander": (1024,) * 3,
        "invariance_weight": 25.0,
        "variance_weight": 25.0,
        "covariance_weight": 1.0,
        "k": 5,
        "percentile": 20.0,
        "scale_over": "batch",
        "walk_after": 0.0,
    }
    cpu = load_recipe("cifar100/sag-vicreg", scale="cpu").method
    assert getattr(cpu, "walk_after", None) == 0.5


@pytest.mark.parametrize("kind", get_args(ViewsSection.model_fields["kind"].annotation))
def test_a_view_without_a_crop_scale_gets_its_kinds_own(kind: str) -> None:
    local = {"number": 2, "size": 16, "scale": (0.05, 0.4)} if kind == "dino" else None
    section = ViewsSection.model_validate({"kind": kind, "local": local})
    assert section.crop_scale == CROP_SCALES[kind]


def test_k_is_asked_only_of_those_who_walk() -> None:
    assert load_recipe("shapes/simclr", overrides=["batch_size=4"]).batch_size == 4
    with pytest.raises(InputError, match=r"method\.k is 5"):
        load_recipe("shapes/simclr", overrides=["batch_size=4", "method.pairing=random_walk"])


def test_the_learning_rate_scales_with_the_optimisers_batch() -> None:
    plain = load_recipe("imagenet100/vicreg")
    assert plain.learning_rate == pytest.approx(1.3)
    twice = load_recipe("imagenet100/vicreg", overrides=["accumulate=2"])
    assert twice.learning_rate == pytest.approx(2.6)
    assert twice.batch_size == plain.batch_size  # what the walk sees


def test_the_digest_counts_what_changes_the_result_and_nothing_else() -> None:
    recipe = load_recipe("cifar100/vicreg")
    noted = load_recipe("cifar100/vicreg", overrides=["monitor.log_every=7", "name=other"])
    assert noted.digest() == recipe.digest()
    for change in (
        "seed=1",
        "dataset.classes=first",
        "optimizer.base_lr=1.2",
        "method.expander=[8]",
    ):
        assert load_recipe("cifar100/vicreg", overrides=[change]).digest() != recipe.digest()


def test_a_file_may_hold_only_what_differs_from_its_base(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("base: cifar100/sag-vicreg\nscale: cpu\noptimizer: {base_lr: 1e-1}\n")
    recipe = load_recipe(path, overrides=["method.k=3"])
    expected = load_recipe(
        "cifar100/sag-vicreg", scale="cpu", overrides=["optimizer.base_lr=0.1", "method.k=3"]
    )
    assert recipe == expected


def test_the_order_of_overrides_does_not_matter() -> None:
    settings = ["optimizer.base_lr=1e-3", "optimizer.name=adamw"]
    recipes = [load_recipe("shapes/vicreg", overrides=o) for o in (settings, settings[::-1])]
    assert recipes[0] == recipes[1]
    assert recipes[0].optimizer.base_lr == 1e-3


def test_a_recipe_is_named_after_what_it_trains() -> None:
    def name(*overrides: str) -> str:
        return load_recipe("shapes/sag-vicreg-vit", overrides=overrides).name

    assert name("seed=3") == "shapes/sag-vicreg-vit"
    assert name("dataset.name=folder:pics") == "folder:pics/sag-vicreg"
    assert name("dataset.name=folder:pics", "name=mine") == "mine"
    with pytest.raises(InputError, match=r"--set dataset\.name=folder:pics"):
        load_recipe("folder:pics/vicreg")


def test_another_name_clears_what_belonged_to_the_old_one() -> None:
    recipe = load_recipe(
        "cifar100/vicreg",
        scale="cpu",
        overrides=["optimizer={name: adamw, base_lr: 1e-3}", "backbone.name=resnet50"],
    )
    assert recipe.optimizer.name == "adamw"
    assert recipe.optimizer.weight_decay == 0.05
    assert recipe.backbone.args == {}
    same = load_recipe("cifar100/vicreg", scale="cpu", overrides=["backbone.name=resnet18"])
    assert same == load_recipe("cifar100/vicreg", scale="cpu")


MISTAKES = {
    "method.lamda=1": "unknown key method.lamda",
    "optimizer.base_rl=1": "did you mean 'base_lr'?",
    "optimiser.base_lr=1": "unknown key optimiser: did you mean 'optimizer'?",
    "optimizer.base_lr=fast": "optimizer.base_lr is 'fast': input should be a valid number",
    "optimizer.base_lr=-1": "optimizer.base_lr is -1: input should be greater than 0",
    "batch_size=20.5": "batch_size is 20.5: input should be a valid integer",
    "seed=true": "seed is True",
    "method.name=vicrag": "unknown method.name 'vicrag': did you mean 'vicreg'?",
    "optimizer.name=sgd": "unknown optimizer.name 'sgd': Valid: lars, adamw",
    "dataset.name=cifar10": "unknown dataset 'cifar10': did you mean 'cifar100'?",
    "batch_size=4": "method.k is 5 but batch_size is 4",
    "schedule.steps=10": "either epochs or steps",
    "schedule.epochs=5": "warmup_epochs is 10 but training ends after 5 epochs",
    "optimizer.base_lr=.inf": "optimizer.base_lr is inf: input should be a finite number",
    "dataset.seed=-1": "dataset.seed is -1",
    "views.kind=[a]": "views.kind is ['a']",
    "views.kind=dino": "views.local belongs to views.kind dino",
    "method.expander=[]": "method.expander",
    "method.expander=[64, 0]": "greater than 0",
    "nonsense": "write key=value",
    ".=1": "write key=value",
    "seed={": "is not YAML",
}


@pytest.mark.parametrize("override", MISTAKES)
def test_a_mistake_is_one_line_that_names_the_key(override: str) -> None:
    with pytest.raises(InputError) as caught:
        load_recipe("cifar100/sag-vicreg", overrides=[override])
    assert MISTAKES[override] in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("cifar10/vicreg", "unknown dataset in recipe 'cifar10': did you mean 'cifar100'?"),
        ("cifar100/simcler", "did you mean 'simclr'?"),
        ("cifar100", "unknown method"),
        ("cifar100/vicreg/x", "unknown method"),
        ("missing.yaml", "cannot read the recipe missing.yaml"),
    ],
)
def test_an_unknown_recipe_names_the_nearest(name: str, message: str) -> None:
    with pytest.raises(InputError, match=r"unknown|cannot") as caught:
        load_recipe(name)
    assert message in str(caught.value)


def test_the_scale_is_no_override() -> None:
    with pytest.raises(InputError, match=r"scale is no key to override.*--scale cpu"):
        load_recipe("cifar100/vicreg", overrides=["scale=cpu"])


def test_an_unknown_scale_and_a_scale_on_a_complete_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="unknown scale 'cpus': did you mean 'cpu'"):
        load_recipe("cifar100/vicreg", scale="cpus")
    path = tmp_path / "recipe.yaml"
    path.write_text(load_recipe("cifar100/vicreg").to_yaml())
    with pytest.raises(InputError, match="complete recipe"):
        load_recipe(path, scale="cpu")


@pytest.mark.parametrize("text", ["", "- 1", "3", "a: [", "seed: 1", "\x00"])
def test_a_file_that_is_no_recipe_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "recipe.yaml"
    path.write_text(text)
    with pytest.raises(InputError):
        load_recipe(path)


@given(st.floats(min_value=1e-12, max_value=1e6))
def test_any_float_may_be_written_as_python_writes_it(value: float) -> None:
    recipe = load_recipe("cifar100/vicreg", overrides=[f"optimizer.base_lr={value!r}"])
    assert recipe.optimizer.base_lr == value


@pytest.mark.parametrize(("epochs", "expected"), [(500, (125_000, 2_500)), (20, (5_000, 2_500))])
def test_epochs_become_steps(epochs: int, expected: tuple[int, int]) -> None:
    schedule = load_recipe("cifar100/vicreg", overrides=[f"schedule.epochs={epochs}"]).schedule
    assert (schedule.total_steps(250), schedule.warmup_steps(250)) == expected


@pytest.mark.parametrize("steps", [1, 300, 10_000])
def test_warmup_scales_with_steps(steps: int) -> None:
    recipe = load_recipe("cifar100/vicreg", scale="cpu", overrides=[f"schedule.steps={steps}"])
    assert recipe.schedule.total_steps(250) == steps
    assert recipe.schedule.warmup_steps(250) == int(0.05 * steps)


def test_recipes_are_frozen() -> None:
    recipe: Recipe = load_recipe("cifar100/vicreg")
    with pytest.raises(ValueError, match="frozen"):
        recipe.seed = 1  # type: ignore[misc]


def test_a_recipe_is_checked_without_torch() -> None:
    code = (
        "import sys; from sag_vicreg.recipes import load_recipe; load_recipe('cifar100/dino');"
        "print([m for m in ('torch', 'timm', 'lightning', 'numpy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "[]", done.stderr
