"""Trainings that end as on a machine that loses power, at a step and not at a time."""

import os
import signal
from pathlib import Path
from typing import Any

from sag_vicreg.recipes import Recipe
from sag_vicreg.training import train
from sag_vicreg.training.checkpoint import CheckpointStore


def kill_this_process_after(step: int) -> None:
    """Send SIGKILL to this process once the checkpoint of ``step`` is written."""
    save = CheckpointStore.save

    def save_and_die(store: CheckpointStore, done: int, state: dict[str, Any]) -> None:
        save(store, done, state)
        if done == step:
            os.kill(os.getpid(), signal.SIGKILL)

    CheckpointStore.save = save_and_die  # type: ignore[method-assign]


def train_until_killed(recipe: Recipe, folder: Path, step: int) -> None:
    """Train in a process of its own, which does not come back."""
    kill_this_process_after(step)
    train(recipe, folder)
