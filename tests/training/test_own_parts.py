"""Methods, backbones, images, loggers and callbacks of the user's own."""

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lightning.pytorch as pl
import numpy as np
import pytest
import torch
from lightning.pytorch.callbacks import LearningRateMonitor
from lightning.pytorch.loggers import CSVLogger
from safetensors.torch import load_file
from torch import nn
from typer.testing import CliRunner

from sag_vicreg.artifacts import Run
from sag_vicreg.cli import app
from sag_vicreg.data import ImageDataset, load_dataset
from sag_vicreg.errors import InputError
from sag_vicreg.losses import LossTerms, VICRegLoss
from sag_vicreg.methods import Method, Moment, TwoViewMethod, expander
from sag_vicreg.recipes import Recipe
from sag_vicreg.training import embed, train
from sag_vicreg.training.extensions import LOGGERS, make_logger

MakeRecipe = Callable[..., Recipe]
SHORT = ("schedule.steps=4", "monitor.checkpoint_every=2", "monitor.measure_every=4")


class SmallNet(nn.Module):
    """Nothing of timm's."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(3, 8, 3, 2), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(1)
        )

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        features: torch.Tensor = self.layers(images).flatten(1)
        return features


class Spread(TwoViewMethod):
    """A method of the user's own."""

    def __init__(self) -> None:
        super().__init__(SmallNet(), expander(8, (16, 16)), VICRegLoss(invariance=10.0))


def own_images(n: int = 60) -> ImageDataset:
    drawn = load_dataset("shapes", max_images=n)
    pixels = drawn.images.permute(0, 2, 3, 1).numpy()
    return ImageDataset.of(pixels, drawn.label_names(), name="mine")


def test_a_method_and_images_of_ones_own(tiny_recipe: MakeRecipe, tmp_path: Path) -> None:
    recipe = tiny_recipe("vicreg", *SHORT)
    torch.manual_seed(0)
    method = Spread()
    before = method.state_dict()["head.layers.0.weight"].clone()
    run = train(recipe, tmp_path / "run", method=method, dataset=own_images())
    assert not torch.equal(before, method.state_dict()["head.layers.0.weight"])
    exported = load_file(run.backbone)
    assert exported.keys() == SmallNet().state_dict().keys()
    made = embed(method, dataset=own_images(10))
    assert made.vectors.shape == (10, 8)
    assert made.labels is not None
    # A folder cannot bring back a network that timm does not build: it says whose it is.
    with pytest.raises(InputError, match="SmallNet"):
        embed(run.folder, dataset="shapes", max_images=4)


def test_a_backbone_of_ones_own_under_the_recipes_method(
    tiny_recipe: MakeRecipe, tmp_path: Path
) -> None:
    recipe = tiny_recipe("sag-vicreg", *SHORT)
    torch.manual_seed(0)
    backbone = SmallNet()
    run = train(recipe, tmp_path / "run", backbone=backbone)
    made = embed(backbone, dataset="shapes", max_images=6, image_size=32)
    twin = SmallNet()
    twin.load_state_dict(load_file(run.backbone))
    again = embed(twin, dataset="shapes", max_images=6, image_size=32)
    np.testing.assert_array_equal(made.vectors, again.vectors)


def test_a_run_with_parts_of_ones_own_resumes_with_them_only(
    tiny_recipe: MakeRecipe, tmp_path: Path
) -> None:
    recipe = tiny_recipe("vicreg", *SHORT)
    parts: list[dict[str, Any]] = []
    for _ in range(3):
        torch.manual_seed(0)
        parts.append({"method": Spread(), "dataset": own_images()})
    whole = train(recipe, tmp_path / "whole", **parts[0])

    class Stop(pl.Callback):
        def on_train_batch_end(self, trainer: pl.Trainer, *_: Any) -> None:
            if trainer.global_step == 3:
                raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        train(recipe, tmp_path / "run", callbacks=[Stop()], **parts[1])
    with pytest.raises(InputError, match="belongs to another recipe"):
        train(recipe, tmp_path / "run", resume=True)
    run = train(recipe, tmp_path / "run", resume=True, **parts[2])
    assert run.backbone.read_bytes() == whole.backbone.read_bytes()


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"method": nn.Linear(2, 2)}, "method is a Linear"),
        ({"method": Spread(), "backbone": SmallNet()}, "one of the two"),
        ({"dataset": [1, 2]}, "dataset is a list"),
        ({"test_dataset": own_images}, "goes with dataset"),
        ({"backbone": nn.Conv2d(3, 4, 3)}, "does not turn an image into one vector"),
    ],
)
def test_parts_that_are_none(
    parts: dict[str, Any], message: str, tiny_recipe: MakeRecipe, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=message):
        train(tiny_recipe("vicreg", *SHORT), tmp_path / "run", **parts)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("images", "options", "message"),
    [
        (np.zeros((4, 8, 8, 3)), {}, "give uint8"),
        (np.zeros((4, 8, 9, 3), np.uint8), {}, "give uint8"),
        (np.zeros((0, 8, 8, 3), np.uint8), {}, "give uint8"),
        (np.zeros(3, np.uint8), {}, "give uint8"),
        (np.zeros((4, 8, 8, 3), np.uint8), {"labels": [1, 2]}, "2 labels"),
        (np.zeros((4, 8, 8, 3), np.uint8), {"ids": ["a"] * 4}, "1 different ids"),
    ],
)
def test_images_that_are_none(images: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        ImageDataset.of(images, **options)


class Listener(pl.Callback):
    """Remembers what it saw."""

    seen: list[float]

    def on_train_start(self, *_: Any) -> None:
        Listener.seen = []

    def on_train_batch_end(self, trainer: pl.Trainer, *_: Any) -> None:
        Listener.seen.append(float(trainer.callback_metrics["loss"]))


def test_loggers_and_callbacks_see_what_the_log_says(
    tiny_recipe: MakeRecipe, finished: Run, tmp_path: Path
) -> None:
    logger = CSVLogger(tmp_path / "own", name="", version="")
    run = train(tiny_recipe(), tmp_path / "run", loggers=[logger], callbacks=[Listener()])
    with run.metrics.open() as file:
        ours = [float(row["loss"]) for row in csv.DictReader(file)]
    with (tmp_path / "own" / "metrics.csv").open() as file:
        theirs = [float(row["loss"]) for row in csv.DictReader(file)]
    assert theirs == pytest.approx(ours, rel=1e-6)
    assert Listener.seen == pytest.approx(ours, rel=1e-6)
    # They watch, and change nothing.
    assert run.backbone.read_bytes() == finished.backbone.read_bytes()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--logger tensorboard", "is always written, to"),
        ("--logger wodnb", "unknown logger 'wodnb': did you mean 'wandb'?"),
        ("--logger nowhere:Class", "cannot find nowhere:Class"),
        ("--logger collections:OrderedDict", "makes a OrderedDict, not a Lightning Logger"),
        ("--callback early", "write module:Class"),
        ("--callback lightning.pytorch.callbacks:Timers", "cannot find"),
        ("--callback lightning.pytorch.callbacks:EarlyStopping", "needs arguments"),
        ("--callback lightning.pytorch.callbacks:ModelCheckpoint", "Lightning refuses"),
        ("--devices 99 --accelerator cpu", "99 devices on a CPU are 99 processes"),
        ("--set method.expander=[100000000]", "parameters, which need"),
        ("--set method.expander=[9000000000000000000,9000000000000000000]", "cannot be built"),
        ("--set backbone.args.drop_path_rate=2.0", "would drop with probability"),
    ],
)
def test_what_cannot_be_is_one_line_before_anything_is_made(
    options: str, message: str, tmp_path: Path
) -> None:
    command = f"train --recipe shapes/vicreg --scale smoke --out {tmp_path}/run {options}"
    done = CliRunner().invoke(app, command.split())
    assert done.exit_code == 2, done.output
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("name", ["wandb", "mlflow"])
def test_a_logger_that_is_not_installed_is_named(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(folder: Path) -> Any:
        raise ModuleNotFoundError(f"No module named '{name}'")

    monkeypatch.setitem(LOGGERS, name, missing)
    with pytest.raises(InputError, match=f"logger {name} is not installed: pip install {name}"):
        make_logger(name, tmp_path)


def test_a_callback_that_lightning_refuses_while_training_begins_is_one_line(
    tiny_recipe: MakeRecipe, tmp_path: Path
) -> None:
    recipe = tiny_recipe("vicreg", *SHORT)
    with pytest.raises(InputError, match=r"LearningRateMonitor.*leave it out"):
        train(recipe, tmp_path / "run", callbacks=[LearningRateMonitor()])
    assert train(recipe, tmp_path / "run", resume=True).backbone.exists()


def test_memory_that_runs_out_while_training_is_one_line(
    tiny_recipe: MakeRecipe, tmp_path: Path
) -> None:
    class Greedy(pl.Callback):
        def on_train_batch_end(self, trainer: pl.Trainer, *_: Any) -> None:
            if trainer.global_step == 3:
                torch.empty(1 << 50)

    recipe = tiny_recipe("vicreg", *SHORT)
    with pytest.raises(InputError, match=r"memory ran out .*: lower the batch size"):
        train(recipe, tmp_path / "run", callbacks=[Greedy()])
    assert train(recipe, tmp_path / "run", resume=True).backbone.exists()


def test_every_method_is_tried_without_memory(tiny_recipe: MakeRecipe) -> None:
    from sag_vicreg.methods import make_method
    from sag_vicreg.recipes.method_sections import METHODS

    for section in METHODS.values():
        for recipe in section.recipes:
            method = make_method(tiny_recipe(recipe.name))
            assert not any(p.is_meta for p in method.state_dict().values()), recipe.name


def test_a_method_without_a_section_is_enough() -> None:
    class Attraction(Method):
        def forward(self, views: Any, moment: Moment) -> LossTerms:
            distance = (self.backbone(views[0]) - self.backbone(views[1])).square().mean()
            return LossTerms(distance, {"distance": distance})

    terms = Attraction(SmallNet())(
        torch.rand(2, 4, 3, 16, 16), Moment(step=0, total_steps=1, batch_size=4)
    )
    terms.backward()


def test_ctrl_c_says_how_to_go_on(
    tiny_recipe: MakeRecipe, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    class Interrupt(pl.Callback):
        def on_train_batch_end(self, trainer: pl.Trainer, *_: Any) -> None:
            if trainer.global_step == 3:
                raise KeyboardInterrupt

    with pytest.raises(SystemExit) as stopped:
        train(tiny_recipe("vicreg", *SHORT), tmp_path / "run", callbacks=[Interrupt()])
    assert stopped.value.code == 130
    said = capsys.readouterr().err.splitlines()[-1]
    assert said.startswith("stopped by Ctrl-C, checkpoint step-00000002.pt is kept: `sag-vicreg")
    assert train(tiny_recipe("vicreg", *SHORT), tmp_path / "run", resume=True).backbone.exists()


def test_train_and_reproduce_take_the_same_scale() -> None:
    import inspect

    from sag_vicreg.cli.reproduce import reproduce
    from sag_vicreg.recipes import DEFAULT_SCALE

    assert inspect.signature(reproduce).parameters["scale"].default == DEFAULT_SCALE
    done = CliRunner().invoke(app, ["train", "--recipe", "shapes/vicreg", "--show"])
    assert f"scale: {DEFAULT_SCALE}\n" in done.stdout
