"""What the walk costs: seconds per epoch and peak memory, SAG-VICReg against VICReg.

The paper's appendix on hardware reports both for ImageNet-1k on one GPU. Here a few real steps of
each are trained in processes of their own, taking turns, on whatever device there is.
"""

import multiprocessing
import statistics
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor

from sag_vicreg.errors import require_train_extra
from sag_vicreg.machine import peak_bytes
from sag_vicreg.progress import track
from sag_vicreg.recipes import (
    DATASET_LABELS,
    DATASETS,
    METHOD_LABELS,
    Recipe,
    load_recipe,
)
from sag_vicreg.reproduce.estimate import measure_step
from sag_vicreg.reproduce.tables import Column, Row, Table, paper_row
from sag_vicreg.scores import Score

METHODS = ("vicreg", "sag-vicreg")
ROUNDS = 3


def _measure(recipe: Recipe) -> tuple[float, float]:
    """Return seconds per step and peak memory in MB, of the device that trains."""
    import torch

    seconds = measure_step(recipe)
    peak = torch.cuda.max_memory_allocated() if torch.cuda.is_available() else peak_bytes()
    return seconds, peak / 2**20


def measure_overhead(
    scale: str, dataset: str, *, methods: Sequence[str] = METHODS, seeds: int = 1
) -> Table:
    """Train a few steps of each method in turns and lay the medians out as a table.

    There are at least :data:`ROUNDS` turns, and one of every seed.
    """
    require_train_extra("reproduce overhead")
    turns = [(turn % seeds, method) for turn in range(max(ROUNDS, seeds)) for method in methods]
    measured: dict[str, list[tuple[float, float]]] = {method: [] for method in methods}
    for seed, method in track(turns, "a few steps of each"):
        # The walk from the first step on: its cost is what is asked for.
        walk = ["method.walk_after=0"] if method == "sag-vicreg" else []
        recipe = load_recipe(f"{dataset}/{method}", scale=scale, overrides=[*walk, f"seed={seed}"])
        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
            measured[method].append(pool.submit(_measure, recipe).result())
    steps = DATASETS[dataset].train_images // recipe.batch_size
    return overhead_table(measured, scale=scale, dataset=dataset, steps_per_epoch=steps)


def overhead_table(
    measured: Mapping[str, Sequence[tuple[float, float]]],
    *,
    scale: str,
    dataset: str,
    steps_per_epoch: int,
) -> Table:
    """Lay out (seconds per step, peak MB) of each turn; medians, SAG-VICReg's excess last."""
    rows = []
    for method, turns in measured.items():
        step = statistics.median(seconds for seconds, _ in turns)
        memory = statistics.median(peak for _, peak in turns)
        # The paper's own numbers are of another machine: they stand beside ours for the ratio.
        paper = paper_row("overhead", dataset, method) if scale == "paper" else None
        rows.append(
            Row(
                method,
                METHOD_LABELS[method],
                tuple(Score(value) for value in (step, step * steps_per_epoch, memory)),
                (None, *paper) if paper else (),
            )
        )
    return Table(
        f"overhead-{dataset}",
        f"Cost of the walk on {DATASET_LABELS[dataset]}, {scale} scale",
        (
            Column("step_seconds", "seconds per step"),
            Column("epoch_seconds", "seconds per epoch"),
            Column("memory_mb", "peak memory, MB"),
        ),
        tuple(rows),
        lower_is_better=True,
        notes=(f"Median of {len(turns)} turns.",),
    )
