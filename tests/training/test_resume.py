"""Exact resume: killed at any moment, a run ends in the weights it would have ended in."""

import random
import shutil
import signal
import time
from collections.abc import Callable
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image
from safetensors.torch import load_file

from bits import bits
from sag_vicreg.artifacts import Run
from sag_vicreg.data import load_dataset
from sag_vicreg.errors import InputError
from sag_vicreg.recipes import Recipe
from sag_vicreg.training import train
from sag_vicreg.training.checkpoint import CheckpointStore
from sag_vicreg.training.module import TrainingModule
from sag_vicreg.training.watch import Watch

Start = Callable[..., ForkServerProcess]
MakeRecipe = Callable[..., Recipe]


def assert_same_run(a: Run, b: Run) -> None:
    """Weights and the whole of the last checkpoint bit for bit, metrics but for the speed."""
    weights_a, weights_b = load_file(a.backbone), load_file(b.backbone)
    assert weights_a.keys() == weights_b.keys()
    for name, tensor in weights_a.items():
        assert torch.equal(tensor, weights_b[name]), name
    last_a, last_b = (
        torch.load(max(run.checkpoints.iterdir()), weights_only=True) for run in (a, b)
    )
    assert bits(last_a) == bits(last_b)
    assert rows(a) == rows(b)


def rows(run: Run) -> list[list[str]]:
    lines = [line.split(",") for line in run.metrics.read_text().splitlines()]
    speed = lines[0].index("images_per_second")
    return [line[:speed] + line[speed + 1 :] for line in lines]


def kill_in_step(process: ForkServerProcess, run: Run, step: int) -> None:
    """Kill the process as soon as its log has a row of ``step``, or its recipe for step 0."""

    def reached() -> bool:
        lines = run.metrics.read_text().splitlines() if run.metrics.exists() else []
        done = int(lines[-1].partition(",")[0]) if len(lines) > 1 else 0
        return run.recipe.exists() and done >= step

    while process.is_alive() and not reached():
        time.sleep(0.001)
    process.kill()
    process.join()


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_a_run_killed_at_random_moments_ends_bit_identical(
    seed: int, tiny_recipe: MakeRecipe, start_training: Start, tmp_path: Path
) -> None:
    whole = start_training(tiny_recipe(), tmp_path / "whole")
    rng = random.Random(seed)
    folder = tmp_path / "killed"
    recipe = tiny_recipe()
    resume = False
    for step in sorted(rng.sample(range(10), 3)):
        kill_in_step(start_training(recipe, folder, resume=resume), Run(folder), step)
        resume = True
    process = start_training(recipe, folder, resume=True)
    process.join()
    assert process.exitcode == 0
    whole.join()
    assert_same_run(Run(folder), Run(tmp_path / "whole"))
    assert sorted(p.name for p in Run(folder).checkpoints.iterdir()) == [
        "step-00000009.pt",
        "step-00000010.pt",
    ]


@pytest.mark.parametrize("step", [3, 6, 9, 10])
def test_resuming_from_any_checkpoint_gives_the_same_run(
    step: int, tiny_recipe: MakeRecipe, finished: Run, tmp_path: Path
) -> None:
    """As after a kill just past the checkpoint: later rows are in the log, no backbone is there."""
    recipe = tiny_recipe()
    stopped = interrupt_after(step, recipe, tmp_path / "stopped")
    run = train(recipe, stopped, resume=True)
    assert_same_run(run, finished)


def test_it_does_not_matter_whether_the_module_or_the_watch_starts_first(
    tiny_recipe: MakeRecipe, finished: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lightning happens to start callbacks first; here the module is first."""
    stopped = interrupt_after(6, tiny_recipe(), tmp_path / "stopped")
    start_watch, start_module = Watch.on_train_start, TrainingModule.on_train_start
    later: list[Callable[[], None]] = []

    def wait(watch: Watch, trainer: Any, module: TrainingModule) -> None:
        later.append(lambda: start_watch(watch, trainer, module))

    def first(module: TrainingModule) -> None:
        start_module(module)
        later.pop()()

    monkeypatch.setattr(Watch, "on_train_start", wait)
    monkeypatch.setattr(TrainingModule, "on_train_start", first)
    # The drift measured at step 10 is from the images as they were embedded at step 5.
    assert_same_run(train(tiny_recipe(), stopped, resume=True), finished)


def interrupt_after(step: int, recipe: Recipe, folder: Path) -> Path:
    """Train, stopping in the step after the checkpoint of ``step`` is written."""

    class Killed(BaseException):
        pass

    save = CheckpointStore.save

    def save_and_die(self: CheckpointStore, done: int, state: dict[str, object]) -> None:
        save(self, done, state)
        if done == step:
            raise Killed

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CheckpointStore, "save", save_and_die)
        with pytest.raises(Killed):
            train(recipe, folder)
    return folder


@pytest.mark.parametrize(
    ("method", "extra"),
    [
        ("vicreg", "optimizer={name: adamw, base_lr: 1e-3}"),
        ("simclr", "accumulate=2"),
        ("barlow-twins", "seed=1"),
        ("sag-vicreg", "method={walk_after: 0, around: view, scale_over: batch}"),
    ],
)
def test_every_method_resumes_exactly(
    method: str, extra: str, tiny_recipe: MakeRecipe, tmp_path: Path
) -> None:
    # AdamW and accumulation as well: other optimiser state, several batches a step.
    recipe = tiny_recipe(method, extra)
    whole = train(recipe, tmp_path / "whole")
    resumed = train(recipe, interrupt_after(6, recipe, tmp_path / "stopped"), resume=True)
    assert_same_run(resumed, whole)


def test_other_images_than_before_are_refused(tiny_recipe: MakeRecipe, tmp_path: Path) -> None:
    drawn = load_dataset("shapes", classes=[0, 9], max_images=60)
    pictures = tmp_path / "pictures"
    for index, (image, name) in enumerate(zip(drawn.images, drawn.label_names(), strict=True)):
        path = pictures / name / f"{index:02d}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(image.permute(1, 2, 0).numpy()).save(path)
    recipe = tiny_recipe("vicreg", f"dataset.name=folder:{pictures}", "dataset.max_images=null")
    folder = interrupt_after(6, recipe, tmp_path / "run")
    one = next(pictures.rglob("*.png"))
    more = [one.with_name(f"more-{index}.png") for index in range(5)]
    for path in more:
        shutil.copy(one, path)
    with pytest.raises(InputError, match=r"holds other images than when .*step-00000006"):
        train(recipe, folder, resume=True)
    for path in more:
        path.unlink()
    assert train(recipe, folder, resume=True).backbone.is_file()


def test_a_finished_run_is_returned_as_it_is(
    tiny_recipe: MakeRecipe, finished: Run, tmp_path: Path
) -> None:
    folder = shutil.copytree(finished.folder, tmp_path / "copy")
    before = (folder / "backbone.safetensors").stat().st_mtime_ns
    train(tiny_recipe(), folder, resume=True)
    assert (folder / "backbone.safetensors").stat().st_mtime_ns == before


def test_monitoring_does_not_change_the_result(
    tiny_recipe: MakeRecipe, finished: Run, tmp_path: Path
) -> None:
    quiet = tiny_recipe("sag-vicreg", "monitor.measure_every=10", "monitor.log_every=7")
    run = train(quiet, tmp_path / "quiet")
    weights, expected = load_file(run.backbone), load_file(finished.backbone)
    assert all(torch.equal(weights[name], expected[name]) for name in expected)


def test_nothing_of_slurms_is_taken_for_a_checkpoint(
    tiny_recipe: MakeRecipe, finished: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lightning would load the file of that name, or write it on SIGUSR1."""
    variables = {
        "NTASKS": 1,
        "JOB_NAME": "sag",
        "JOB_ID": 7,
        "PROCID": 0,
        "LOCALID": 0,
        "NODEID": 0,
    }
    for name, value in variables.items():
        monkeypatch.setenv(f"SLURM_{name}", str(value))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hpc_ckpt_1.ckpt").write_bytes(b"of another run")
    before = signal.getsignal(signal.SIGUSR1)
    during = []
    save = CheckpointStore.save

    def note_and_save(store: CheckpointStore, step: int, state: dict[str, Any]) -> None:
        during.append(signal.getsignal(signal.SIGUSR1))
        save(store, step, state)

    monkeypatch.setattr(CheckpointStore, "save", note_and_save)
    assert_same_run(train(tiny_recipe(), tmp_path / "run"), finished)
    assert set(during) == {before}
