"""Recipes: the paper's numbers, the merge, and one clear line for every mistake."""

import inspect
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sag_vicreg.errors import InputError
from sag_vicreg.pairing import RandomWalkPairing
from sag_vicreg.published import CROP_SCALES
from sag_vicreg.recipes import SCALES, Recipe, load_recipe, recipe_names
from sag_vicreg.recipes.method_sections import WalkSettings
from sag_vicreg.recipes.schema import ViewsSection


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


def test_weights_are_the_papers_and_the_walk_keeps_the_own_view_at_every_scale() -> None:
    method = load_recipe("cifar100/sag-vicreg").method
    assert method.model_dump() == {
        "name": "sag-vicreg",
        "expander": (1024,) * 3,
        "invariance_weight": 25.0,
        "variance_weight": 25.0,
        "covariance_weight": 1.0,
        "k": 5,
        "percentile": 20.0,
        "scale_over": "neighbors",
        "around": "own_view",
        "walk_after": 0.0,
    }
    cpu = load_recipe("cifar100/sag-vicreg", scale="cpu").method
    assert cpu.model_dump(exclude={"expander"}) == method.model_dump(exclude={"expander"})


@pytest.mark.parametrize("name", ["sag-vicreg", "simclr", "barlow-twins"])
def test_packaged_walks_are_the_default_of_the_pairing(name: str) -> None:
    """Whoever takes the loss without a recipe walks as the recipe does."""
    method = load_recipe(f"cifar100/{name}").method
    assert isinstance(method, WalkSettings)
    parameters = inspect.signature(RandomWalkPairing).parameters
    assert method.options() == {key: parameters[key].default for key in method.options()}


def test_a_walk_that_nobody_takes_does_not_count_in_the_digest() -> None:
    changed = ["method.around=view", "method.scale_over=batch"]
    for name in ("simclr", "barlow-twins"):
        plain = load_recipe(f"cifar100/{name}")
        assert load_recipe(plain.name, overrides=changed).digest() == plain.digest()
        walk = "method.pairing=random_walk"
        walked = load_recipe(plain.name, overrides=[walk])
        assert walked.digest() != plain.digest()
        assert load_recipe(plain.name, overrides=[walk, *changed]).digest() != walked.digest()


@pytest.mark.parametrize("kind", get_args(ViewsSection.model_fields["kind"].annotation))
def test_a_view_without_a_crop_scale_gets_its_kinds_own(kind: str) -> None:
    local = {"number": 2, "size": 16, "scale": (0.05, 0.4)} if kind == "dino" else None
    section = ViewsSection.model_validate({"kind": kind, "local": local})
    assert section.crop_scale == CROP_SCALES[kind]


def test_what_is_declared_has_its_files_and_its_title() -> None:
    from importlib import resources

    from sag_vicreg.recipes import DATASET_LABELS, DATASETS, METHOD_LABELS
    from sag_vicreg.recipes.method_sections import METHODS

    library = resources.files("sag_vicreg.recipes") / "library"
    packaged = {name for name, entry in DATASETS.items() if entry.recipes}
    own_files = {r.name for section in METHODS.values() for r in section.recipes if r.own_file}
    for kind, names in {"datasets": packaged, "methods": {*METHODS, *own_files}}.items():
        assert {path.name for path in (library / kind).iterdir()} == {f"{n}.yaml" for n in names}
    assert {name.partition("/")[2] for name in recipe_names()} == set(METHOD_LABELS)
    assert packaged == set(DATASET_LABELS)
    assert all(DATASETS[name].train_images for name in packaged)


def test_what_holds_other_images_in_other_places_is_not_trained_on() -> None:
    for name in ("imagenet", "nothing:pictures"):
        with pytest.raises(InputError, match=f"unknown dataset '{name}'"):
            load_recipe("shapes/vicreg", overrides=[f"dataset.name={name}"])


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
        ("missing.yaml", "missing.yaml: there is no such file"),
    ],
)
def test_an_unknown_recipe_names_the_nearest(name: str, message: str) -> None:
    with pytest.raises(InputError, match=r"unknown|no such file") as caught:
        load_recipe(name)
    assert message in str(caught.value)


def test_the_scale_is_no_override() -> None:
    with pytest.raises(InputError, match=r"scale cannot be overridden.*--scale cpu"):
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
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr


@pytest.mark.parametrize("dataset", ["cifar100", "imagenet1k", "shapes"])
@pytest.mark.parametrize("scale", SCALES)
def test_the_literal_reading_is_a_recipe_of_its_own(dataset: str, scale: str) -> None:
    """Word by word: published results of the literal walk are results of this recipe."""
    literal = load_recipe(f"{dataset}/sag-vicreg-literal", scale=scale)
    walk = {
        "k": 5,
        "percentile": 20.0,
        "scale_over": "batch",
        "around": "view",
        "walk_after": 0.0 if scale == "paper" else 0.5,
    }
    assert walk.items() <= literal.method.model_dump().items()
    assert literal.name == f"{dataset}/sag-vicreg-literal"


def test_a_newer_key_counts_in_the_digest_only_where_it_changes_something() -> None:
    name = "cifar100/sag-vicreg-literal"
    plain = load_recipe(name)
    same, changed = (
        load_recipe(name, overrides=[f"method.around={each}"]) for each in ("view", "own_view")
    )
    assert same.digest() == plain.digest()
    assert changed.digest() != plain.digest()


def test_a_recipe_that_takes_no_rejected_reading_means_what_it_meant() -> None:
    """Recipes saved while the study of the walk ran name readings that have left since."""
    plain = load_recipe("shapes/sag-vicreg")
    saved = plain.model_dump(mode="json")
    saved["method"] |= {"stay_home": False, "crossed": False, "neighbors_in": "embedding"}
    saved["method"] |= {"walk_ramp": 0.0, "walk_share": 1.0}
    saved["method"] |= {"partners": "walk", "partner_weight": 1.0, "memory": 0}
    again = Recipe.model_validate(saved)
    assert again == plain
    assert again.digest() == plain.digest()


@pytest.mark.parametrize(
    "walk", ["crossed: true", "walk_share: 0.5", "partners: random", "memory: 4000"]
)
def test_a_rejected_reading_is_refused_by_name(walk: str) -> None:
    with pytest.raises(InputError, match=f"method.{walk.partition(':')[0]} is no longer there"):
        load_recipe("shapes/sag-vicreg", overrides=[f"method={{{walk}}}"])


@pytest.mark.parametrize("walk", ["k: 0", "walk_after: 1.5"])
def test_walks_out_of_range_are_refused(walk: str) -> None:
    with pytest.raises(InputError, match=f"method.*{walk.partition(':')[0]}"):
        load_recipe("shapes/sag-vicreg", overrides=[f"method={{{walk}}}"])
