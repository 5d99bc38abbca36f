"""Mistakes and mishaps: one clear line, the last good checkpoint kept, nothing executed."""

import os
import pickle
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from typer.testing import CliRunner

from sag_vicreg.artifacts import Run
from sag_vicreg.cli import app
from sag_vicreg.errors import InputError, TrainingStopped
from sag_vicreg.losses import LossTerms
from sag_vicreg.recipes import Recipe
from sag_vicreg.training import train
from sag_vicreg.training.checkpoint import CheckpointStore, seal

MakeRecipe = Callable[..., Recipe]


@pytest.fixture
def stopped(finished: Run, tmp_path: Path) -> Run:
    """The finished run as it was before its export."""
    run = Run(shutil.copytree(finished.folder, tmp_path / "stopped"))
    run.backbone.unlink()
    return run


def checkpoint_of(run: Run) -> Path:
    """The last checkpoint, left alone in its folder."""
    *older, path = sorted(run.checkpoints.iterdir())
    for other in older:
        other.unlink()
    return path


def write_checkpoint(content: dict[str, Any], path: Path) -> None:
    """Write what somebody might who knows of the checksum."""
    torch.save(content, path)
    seal(path)


COMMANDS = {
    "train": "name a recipe",
    "train --recipe cifar10/vicreg": "unknown dataset in recipe 'cifar10'",
    "train --recipe shapes/vicrag": "did you mean 'vicreg'?",
    "train --recipe shapes/vicreg --set method.lamda=1": "unknown key method.lamda",
    "train --recipe shapes/vicreg --set batch_size=1": "batch_size is 1",
    "train --recipe shapes/sag-vicreg --set batch_size=4": "method.k is 5 but batch_size is 4",
    "train --resume nowhere": "nothing to resume in nowhere",
    "train --resume nowhere --recipe shapes/vicreg": "leave the others out",
    "train --recipe shapes/vicreg --set views.kind=crop": "takes two views of an image",
    "train --recipe shapes/mae --set views.kind=vicreg": "takes one view of an image",
    "train --recipe shapes/mae --set optimizer.betas=[2.0,3.0]": "optimizer.betas",
    "train --recipe shapes/vicreg --set name=2024-02-30": "is not YAML",
    "train --recipe shapes/mae --set backbone.args.patch_size=0": "whole number of pixels",
    "train --recipe shapes/i-jepa --set method.target_aspect=[.inf,.inf]": "target_aspect",
    "embed resnet18 --dataset shapes": "give --out",
    "embed rnus/sag --dataset shapes": "rnus/sag is not a run folder",
    "embed resnet18 --dataset shapes --out e.csv": "must end in .parquet",
    "embed resnet18 --dataset shapes --out e.parquet --device meta": "no device 'meta' here",
    "embed vit_tiny_patch16_224 --dataset shapes --image-size 32 --out e.parquet": (
        "cannot take colour images of 32 x 32 pixels"
    ),
    "embed resnet18 --dataset shape --out e.parquet": "unknown dataset 'shape'",
    "embed nowhere --dataset shapes --out e.parquet": "unknown backbone 'nowhere'",
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_mistake_on_the_command_line_is_one_line_and_exit_2(command: str) -> None:
    done = CliRunner().invoke(app, command.split())
    assert done.exit_code == 2
    assert done.stderr.startswith("error: ")
    assert COMMANDS[command] in done.stderr
    assert done.stderr.count("\n") == 1


def test_the_recipe_is_refused_before_anything_heavy_is_imported() -> None:
    code = (
        "import sys\nfrom typer.testing import CliRunner\nfrom sag_vicreg.cli import app\n"
        "done = CliRunner().invoke(app, 'train --recipe shapes/vicreg --set sead=1'.split())\n"
        "assert done.exit_code == 2\nprint('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "False", done.stderr


def test_the_complete_recipe_is_shown_without_training() -> None:
    command = "train --recipe shapes/vicreg --set seed=7 --show"
    done = CliRunner().invoke(app, command.split())
    assert done.exit_code == 0
    assert "seed: 7\n" in done.stdout


def test_a_folder_that_holds_something_else(
    tiny_recipe: MakeRecipe, finished: Run, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="already holds another recipe"):
        train(tiny_recipe("vicreg"), finished.folder)
    with pytest.raises(InputError, match="already holds another recipe"):
        train(tiny_recipe("sag-vicreg", "seed=1"), finished.folder, resume=True)
    with pytest.raises(InputError, match="--resume"):
        train(tiny_recipe(), finished.folder)
    with pytest.raises(InputError, match="nothing to resume"):
        train(tiny_recipe(), tmp_path / "nothing", resume=True)
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "love.txt").write_text("dear")
    with pytest.raises(InputError, match="not an empty folder"):
        train(tiny_recipe(), tmp_path / "letters")


def test_a_refused_run_leaves_no_trace(tiny_recipe: MakeRecipe, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with pytest.raises(InputError, match=r"Lightning refuses .* strategy warp"):
        train(tiny_recipe(), folder, strategy="warp")
    with pytest.raises(InputError, match="does not exist"):
        train(tiny_recipe("sag-vicreg", "dataset.name=folder:nowhere"), folder)
    with pytest.raises(InputError, match="does not take backbone"):
        train(tiny_recipe("sag-vicreg", "backbone.args.wings=2"), folder)
    assert not folder.exists()


def test_too_few_images_for_one_batch(tiny_recipe: MakeRecipe, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="shapes has 20 images but one step takes 24"):
        train(tiny_recipe("vicreg", "dataset.max_images=20"), tmp_path / "run")


def test_a_truncated_checkpoint_is_refused(tiny_recipe: MakeRecipe, stopped: Run) -> None:
    path = checkpoint_of(stopped)
    whole = path.read_bytes()
    for length in (0, 100, len(whole) // 2, len(whole) - 30):
        path.write_bytes(whole[:length])
        with pytest.raises(InputError, match="checkpoint"):
            train(tiny_recipe(), stopped.folder, resume=True)


class Exploit:
    """Runs a command when it is unpickled by a trusting reader."""

    def __init__(self, command: str) -> None:
        self.command = command

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, (self.command,)


@pytest.mark.parametrize("writer", ["torch", "pickle"])
def test_a_malicious_checkpoint_is_refused_and_nothing_runs(
    writer: str, tiny_recipe: MakeRecipe, stopped: Run, tmp_path: Path
) -> None:
    trap = tmp_path / "sprung"
    content = {"step": 3, "method": Exploit(f"touch {trap}")}
    if writer == "torch":
        write_checkpoint(content, checkpoint_of(stopped))
    else:
        checkpoint_of(stopped).write_bytes(pickle.dumps(content))
    with pytest.raises(InputError, match="nothing in it was run"):
        train(tiny_recipe(), stopped.folder, resume=True)
    assert not trap.exists()


def test_a_checkpoint_of_another_architecture_or_recipe(
    tiny_recipe: MakeRecipe, stopped: Run
) -> None:
    path = checkpoint_of(stopped)
    content = torch.load(path, weights_only=True)
    write_checkpoint(content | {"method": {"backbone.odd": torch.zeros(1)}}, path)
    with pytest.raises(InputError, match="another architecture"):
        train(tiny_recipe(), stopped.folder, resume=True)
    write_checkpoint(content | {"digest": "0" * 16}, path)
    with pytest.raises(InputError, match="belongs to another recipe"):
        train(tiny_recipe(), stopped.folder, resume=True)
    write_checkpoint(content | {"format": 99}, path)
    with pytest.raises(InputError, match="format 99"):
        train(tiny_recipe(), stopped.folder, resume=True)
    write_checkpoint(content | {"format": torch.ones(2)}, path)
    with pytest.raises(InputError, match="this version reads"):
        train(tiny_recipe(), stopped.folder, resume=True)
    write_checkpoint(content | {"method": 3}, path)
    with pytest.raises(InputError, match="holds no method that can be used"):
        train(tiny_recipe(), stopped.folder, resume=True)
    write_checkpoint({"weights": 1}, path)
    with pytest.raises(InputError, match="is not a checkpoint of sag-vicreg"):
        train(tiny_recipe(), stopped.folder, resume=True)


def test_a_precision_the_device_lacks_is_not_replaced_in_silence(
    tiny_recipe: MakeRecipe, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="precision 16-mixed does not exist on this device"):
        train(tiny_recipe("vicreg", "precision=16-mixed"), tmp_path / "run", accelerator="cpu")


def test_a_loss_that_is_not_finite_stops_the_run_and_keeps_the_last_checkpoint(
    tiny_recipe: MakeRecipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sag_vicreg.methods.vicreg import VICReg

    forward = VICReg.forward

    def diverge(self: VICReg, views: list[torch.Tensor], moment: object) -> LossTerms:
        terms = forward(self, views, moment)  # type: ignore[arg-type]
        step: int = moment.step  # type: ignore[attr-defined]
        return LossTerms(terms.total * torch.nan, terms.parts) if step == 7 else terms

    monkeypatch.setattr(VICReg, "forward", diverge)
    with pytest.raises(
        InputError, match=r"diverged at step 7 \(the loss is nan\).*006\.pt is kept"
    ):
        train(tiny_recipe("vicreg"), tmp_path / "run")


def test_another_mistake_is_not_called_divergence(
    tiny_recipe: MakeRecipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sag_vicreg.methods.vicreg import VICReg

    def refuse(self: VICReg, views: list[torch.Tensor], moment: object) -> LossTerms:
        raise InputError("z has 2 columns on one rank and 3 on another")

    monkeypatch.setattr(VICReg, "forward", refuse)
    with pytest.raises(InputError, match="2 columns") as caught:
        train(tiny_recipe("vicreg"), tmp_path / "run")
    assert not isinstance(caught.value, TrainingStopped)


@pytest.mark.parametrize("method", ["vicreg", "simclr"])
def test_a_rate_that_is_far_too_high_stops_with_the_reason(
    method: str, tiny_recipe: MakeRecipe, tmp_path: Path
) -> None:
    recipe = tiny_recipe(method, "optimizer.base_lr=1e30")
    with pytest.raises(InputError, match=r"diverged at step \d"):
        train(recipe, tmp_path / "run")


def test_broken_weights_never_replace_a_good_checkpoint(
    tiny_recipe: MakeRecipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sag_vicreg.methods.vicreg import VICReg

    def break_gradients(self: VICReg, moment: object) -> None:
        if moment.step == 5:  # type: ignore[attr-defined]
            next(self.parameters()).grad.fill_(torch.nan)  # type: ignore[union-attr]

    monkeypatch.setattr(VICReg, "after_backward", break_gradients)
    with pytest.raises(TrainingStopped, match=r"after step 6 \(weights are .*003\.pt is kept"):
        train(tiny_recipe("vicreg"), tmp_path / "run")
    assert [p.name for p in Run(tmp_path / "run").checkpoints.iterdir()] == ["step-00000003.pt"]


def test_a_collapsed_embedding_stops_the_run(
    tiny_recipe: MakeRecipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sag_vicreg.training.encoder import Encoder

    embed = Encoder.embed
    monkeypatch.setattr(Encoder, "embed", lambda *a, **k: embed(*a, **k) * 1e-6 + 1)
    with pytest.raises(InputError, match=r"collapsed at step 5.*step-00000003\.pt is kept"):
        train(tiny_recipe(), tmp_path / "run")


def test_an_embedding_of_zeros_has_collapsed_as_well(
    tiny_recipe: MakeRecipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sag_vicreg.training.encoder import Encoder

    embed = Encoder.embed
    monkeypatch.setattr(Encoder, "embed", lambda *a, **k: embed(*a, **k) * 0)
    with pytest.raises(TrainingStopped, match="collapsed at step 5"):
        train(tiny_recipe(), tmp_path / "run")


def test_one_dead_probe_image_costs_only_the_measures_it_spoils(
    tiny_recipe: MakeRecipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sag_vicreg.training.encoder import Encoder

    embed = Encoder.embed

    def dead_first(*arguments: Any, **options: Any) -> Any:
        vectors = embed(*arguments, **options)
        vectors[0] = 0
        return vectors

    monkeypatch.setattr(Encoder, "embed", dead_first)
    run = train(tiny_recipe(), tmp_path / "run")
    last = run.metrics.read_text().splitlines()[-1].split(",")
    header = run.metrics.read_text().splitlines()[0].split(",")
    row = dict(zip(header, last, strict=True))
    # A zero vector has no direction for a cosine tree; neighbours and rank do without it.
    assert row["drift"] == ""
    assert float(row["knn"]) >= 0
    assert float(row["rankme"]) > 1


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["backbone.args.in_chans=1"], "cannot take colour images"),
        (["backbone.args.global_pool=''"], "one vector"),
        (["backbone.args.features_only=true"], "does not take backbone.args.features_only"),
    ],
)
def test_a_backbone_that_cannot_embed_is_refused_before_the_run_exists(
    overrides: list[str], message: str, tiny_recipe: MakeRecipe, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=message):
        train(tiny_recipe("vicreg", *overrides), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_weights_that_diverged_are_named_before_they_are_measured(
    tiny_recipe: MakeRecipe, tmp_path: Path
) -> None:
    settings = ("optimizer.base_lr=1e30", "schedule.warmup_share=0", "monitor.measure_every=1")
    with pytest.raises(TrainingStopped, match="diverged"):
        train(tiny_recipe("vicreg", *settings), tmp_path / "run")


def test_a_run_that_lightning_ends_early_is_not_exported(
    tiny_recipe: MakeRecipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lightning.pytorch.Trainer.fit", lambda *_: None)
    with pytest.raises(InputError, match="ended before its last step, there is no checkpoint yet"):
        train(tiny_recipe("vicreg"), tmp_path / "run")
    assert not Run(tmp_path / "run").backbone.exists()


def test_sigterm_keeps_the_checkpoint_and_says_that_the_run_is_unfinished(
    tiny_recipe: MakeRecipe,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    save = CheckpointStore.save

    def save_and_be_terminated(store: CheckpointStore, step: int, state: dict[str, object]) -> None:
        save(store, step, state)
        os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(CheckpointStore, "save", save_and_be_terminated)
    with pytest.raises(SystemExit) as stopped:
        train(tiny_recipe("vicreg"), tmp_path / "run")
    assert stopped.value.code == 128 + signal.SIGTERM
    assert "stopped by SIGTERM, checkpoint step-00000003.pt is kept" in capsys.readouterr().err
    assert not Run(tmp_path / "run").backbone.exists()
