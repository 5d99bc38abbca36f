"""Trainings killed at random moments, resumed, and compared with one that nobody disturbed."""

import csv
import multiprocessing
import os
import random
import sys
import tempfile
import time
from collections import Counter
from multiprocessing.context import ForkServerContext, ForkServerProcess
from pathlib import Path

from benchmarks.report import Report, Target
from sag_vicreg.artifacts import Run
from sag_vicreg.progress import progress_bar
from sag_vicreg.recipes import Recipe, load_recipe

WHERE = (
    "before the recipe was written",
    "before the first checkpoint",
    "between two checkpoints",
    "after the last checkpoint, before the export",
    "after the export",
)


def run(*, kills: int = 200, seed: int = 0, steps: int = 40) -> Report:
    """Kill trainings until ``kills`` of them have died, and resume each to its end.

    Every training writes a checkpoint after each of its few steps, so that kills fall into writing
    as often as can be. Moments are drawn evenly over half the time of an undisturbed training.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["sag_vicreg.training", "benchmarks.kills"])
    rng = random.Random(seed)
    recipe = short_recipe(steps)
    places: Counter[str] = Counter()
    trainings = identical = damaged = 0
    with (
        tempfile.TemporaryDirectory(prefix="sag-vicreg-kills-") as folder,
        progress_bar("kills", kills) as advance,
    ):
        whole = Run(Path(folder) / "whole")
        start = time.perf_counter()
        finish(context, recipe, whole)
        duration = time.perf_counter() - start
        while places.total() < kills:
            killed = Run(Path(folder) / f"killed-{trainings}")
            while places.total() < kills:
                process = begin(context, recipe, killed)
                process.join(rng.uniform(0, duration / 2))
                if not process.is_alive():
                    break
                process.kill()
                process.join()
                places[place_of(killed, steps)] += 1
                damaged += damaged_files(killed, recipe)
                advance(1)
            finish(context, recipe, killed)
            trainings += 1
            identical += same_run(whole, killed)
    rows: list[tuple[str, ...]] = [(place, str(places[place])) for place in WHERE]
    rows += [("trainings, resumed to their end", str(trainings))]
    return Report(
        f"{places.total()} kills at random moments of trainings of {steps} steps",
        ("", "count"),
        rows,
        [
            Target("finished files found damaged after a kill", damaged, 0, at_least=False),
            Target(
                "trainings that ended in other bytes or another log than the undisturbed one",
                trainings - identical,
                0,
                at_least=False,
            ),
        ],
    )


def short_recipe(steps: int) -> Recipe:
    """Return a training of a second or two that does nothing as often as write."""
    settings = (
        f"schedule.steps={steps}",
        "batch_size=24",
        "dataset.max_images=96",
        "monitor.checkpoint_every=1",
        "monitor.measure_every=20",
        "monitor.log_every=1",
        "monitor.probe_images=60",
    )
    return load_recipe("shapes/sag-vicreg", scale="smoke", overrides=settings)


def begin(context: ForkServerContext, recipe: Recipe, run: Run) -> ForkServerProcess:
    """Start the training, or resume what is there of it, in a process of its own."""
    process = context.Process(target=train_quietly, args=(recipe, run.folder))
    process.start()
    return process


def finish(context: ForkServerContext, recipe: Recipe, run: Run) -> None:
    """Let the training run to its end."""
    process = begin(context, recipe, run)
    process.join()
    if process.exitcode != 0:
        raise RuntimeError(f"a training in {run.folder} ended with code {process.exitcode}")


def train_quietly(recipe: Recipe, folder: Path) -> None:
    """Train as the command does, without a word."""
    from sag_vicreg.training import train

    sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115 - until the process ends
    train(recipe, folder, resume=Run(folder).recipe.exists(), accelerator="cpu")


def place_of(run: Run, last_step: int) -> str:
    """Say how far a killed training had come."""
    if run.backbone.exists():
        return WHERE[4]
    if not run.recipe.exists():
        return WHERE[0]
    written = sorted(run.checkpoints.glob("step-*.pt"))
    if not written:
        return WHERE[1]
    return WHERE[3] if written[-1].name == f"step-{last_step:08d}.pt" else WHERE[2]


def damaged_files(run: Run, recipe: Recipe) -> int:
    """Count the finished files of a killed training that cannot be read."""
    from sag_vicreg.training.checkpoint import CheckpointStore, DamagedCheckpointError

    damaged = 0
    if run.recipe.exists() and load_recipe(run.recipe).digest() != recipe.digest():
        damaged += 1
    store = CheckpointStore(run, recipe.digest())
    for path in run.checkpoints.glob("step-*.pt"):
        try:
            store.load(path)
        except DamagedCheckpointError:
            damaged += 1
    return damaged


def same_run(a: Run, b: Run) -> bool:
    """Whether two runs ended in the same bytes, and logged the same but for the speed."""
    return a.backbone.read_bytes() == b.backbone.read_bytes() and _log(a) == _log(b)


def _log(run: Run) -> list[dict[str, str]]:
    with run.metrics.open(newline="", encoding="utf-8") as file:
        return [
            {key: value for key, value in row.items() if key != "images_per_second"}
            for row in csv.DictReader(file)
        ]
