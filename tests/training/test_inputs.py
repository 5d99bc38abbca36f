"""Inputs: images in memory or on disk, the same views whoever loads them."""

import csv
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from PIL import Image

from sag_vicreg.artifacts import Run
from sag_vicreg.data import catalog, load_dataset
from sag_vicreg.errors import InputError
from sag_vicreg.recipes import Recipe
from sag_vicreg.training import train
from sag_vicreg.training.batches import Batches
from sag_vicreg.training.checkpoint import CheckpointStore
from sag_vicreg.training.inputs import Inputs, load_images
from sag_vicreg.training.run import make_module

MakeRecipe = Callable[..., Recipe]


@pytest.fixture
def on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A folder of photographs too large for memory, as the limit of this test has it."""
    drawn = load_dataset("shapes", classes=[0, 9], max_images=60)
    for index, (image, name) in enumerate(zip(drawn.images, drawn.label_names(), strict=True)):
        path = tmp_path / "photographs" / name / f"{index}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(image.permute(1, 2, 0).numpy()).resize((48, 40)).save(path)
    monkeypatch.setattr(catalog, "RESIDENT_LIMIT", 0)
    return f"folder:{tmp_path / 'photographs'}"


def inputs_of(recipe: Recipe, tmp_path: Path) -> Inputs:
    images = load_images(recipe, "train", root=None)
    return make_module(recipe, images, CheckpointStore(Run(tmp_path), "x")).inputs


def test_workers_change_nothing(on_disk: str, tiny_recipe: MakeRecipe, tmp_path: Path) -> None:
    inputs = inputs_of(tiny_recipe("vicreg", f"dataset.name={on_disk}"), tmp_path)
    assert not inputs.dataset.resident
    views = []
    for inputs.workers in (0, 2):
        loader = inputs.loader(Batches(inputs.plan, start=7, rank=0, world_size=1))
        views.append([inputs.views(batch, torch.device("cpu")).views for batch in loader])
    assert len(views[0]) == 3
    for alone, together in zip(*views, strict=True):
        assert all(torch.equal(a, b) for a, b in zip(alone, together, strict=True))


@pytest.mark.parametrize("world_size", [2, 3])
def test_ranks_see_the_rows_one_process_would(
    world_size: int, tiny_recipe: MakeRecipe, tmp_path: Path
) -> None:
    inputs = inputs_of(tiny_recipe("vicreg", "batch_size=25"), tmp_path)
    ranks = [
        next(iter(Batches(inputs.plan, 3, rank, size)))
        for size in (1, world_size)
        for rank in range(size)
    ]
    whole, *parts = [inputs.views(inputs[m], torch.device("cpu")).views for m in ranks]
    for view, pieces in zip(whole, zip(*parts, strict=True), strict=True):
        torch.testing.assert_close(torch.cat(pieces), view, rtol=0, atol=1e-6)


def test_a_run_on_images_from_disk_trains(
    on_disk: str, tiny_recipe: MakeRecipe, tmp_path: Path
) -> None:
    recipe = tiny_recipe("vicreg", f"dataset.name={on_disk}", "schedule.steps=3")
    assert train(recipe, tmp_path / "run").backbone.exists()


def test_a_corrupt_image_met_by_a_worker_is_one_line(
    on_disk: str, tiny_recipe: MakeRecipe, tmp_path: Path
) -> None:
    for path in Path(on_disk.removeprefix("folder:")).rglob("*.png"):
        path.write_bytes(path.read_bytes()[:60])
    inputs = inputs_of(tiny_recipe("vicreg", f"dataset.name={on_disk}"), tmp_path)
    inputs.workers = 1
    loader = inputs.loader(Batches(inputs.plan, start=0, rank=0, world_size=1))
    (error, *_) = [batch for batch in loader if isinstance(batch, InputError)]
    with pytest.raises(InputError, match=r"^[^\n]*\.png is not a readable image[^\n]*$"):
        inputs.views(error, torch.device("cpu"))


def test_what_cannot_be_measured_is_left_out_and_the_training_goes_on(
    on_disk: str, tiny_recipe: MakeRecipe, tmp_path: Path
) -> None:
    # Two classes to train on, and a single image of one of them to be tested with.
    folder = Path(on_disk.removeprefix("folder:"))
    first, second = sorted(folder.iterdir())
    for split, classes in (("train", (first, second)), ("test", (first,))):
        for class_folder in classes:
            chosen = sorted(class_folder.glob("*.png"))[: None if split == "train" else 1]
            target = folder / split / class_folder.name
            target.mkdir(parents=True)
            for path in chosen:
                shutil.copy(path, target)
    for class_folder in (first, second):
        shutil.rmtree(class_folder)
    run = train(tiny_recipe("vicreg", f"dataset.name={on_disk}"), tmp_path / "run")
    with run.metrics.open() as file:
        last = list(csv.DictReader(file))[-1]
    assert last["step"] == "10"
    assert [last[name] for name in ("knn", "rankme", "embedding_std", "drift")] == [""] * 4


@pytest.mark.parametrize("extra", ["dataset.max_images=24", "monitor.probe_images=2"])
def test_training_needs_neither_labels_nor_enough_images_to_be_measured(
    extra: str, on_disk: str, tiny_recipe: MakeRecipe, tmp_path: Path
) -> None:
    folder = Path(on_disk.removeprefix("folder:"))
    (one_class, _) = sorted(folder.iterdir())
    for other in sorted(folder.rglob("*.png")):
        other.rename(one_class / other.name)
    for empty in [path for path in folder.iterdir() if path != one_class]:
        empty.rmdir()
    recipe = tiny_recipe("vicreg", f"dataset.name={on_disk}", extra)
    run = train(recipe, tmp_path / "run")
    with run.metrics.open() as file:
        last = list(csv.DictReader(file))[-1]
    assert last["knn"] == ""
    assert float(last["rankme"]) > 0
    assert last["drift"] == ""
