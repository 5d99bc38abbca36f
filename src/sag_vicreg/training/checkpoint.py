"""Checkpoints: written whole, never unpickled beyond tensors and plain values, one step at a time.

A checkpoint holds the method (teachers, centres and queues included), the optimiser, and the step.
It holds no generator's state: randomness is a function of seed, epoch and step.
"""

import pickle
import warnings
from pathlib import Path
from typing import Any

import torch

from sag_vicreg.artifacts import Run, atomic_path
from sag_vicreg.errors import InputError

_FORMAT = 1


class CheckpointStore:
    """The ``checkpoints`` folder of a run."""

    def __init__(self, run: Run, digest: str) -> None:
        self.folder = run.checkpoints
        self.digest = digest

    def path(self, step: int) -> Path:
        """Return the name of the checkpoint after ``step`` optimiser steps."""
        return self.folder / f"step-{step:08d}.pt"

    def newest(self) -> Path | None:
        """Return the newest complete checkpoint, if there is any."""
        return max(self.folder.glob("step-*.pt"), default=None)

    def save(self, step: int, state: dict[str, Any]) -> None:
        """Write a checkpoint; older ones go only when it is complete and on disk."""
        path = self.path(step)
        content = {"format": _FORMAT, "digest": self.digest, "step": step, **state}
        try:
            with atomic_path(path) as temporary:
                torch.save(content, temporary)
        except (InputError, RuntimeError) as error:
            # torch's writer reports a full disk as a RuntimeError.
            reason = _first_line(error.__cause__ or error)
            raise InputError(
                f"cannot write checkpoint {path} ({reason}): free some space, then resume; "
                f"{self.kept()}"
            ) from error
        for old in self.folder.glob("step-*.pt"):
            if old != path:
                old.unlink()

    def kept(self) -> str:
        """Say what an interrupted run can go on from."""
        newest = self.newest()
        return f"checkpoint {newest.name} is kept" if newest else "there is no checkpoint yet"

    def load(self, path: Path) -> dict[str, Any]:
        """Read a checkpoint of this recipe; anything else is refused and nothing in it is run."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of foreign pickles, which are refused anyway
                content = torch.load(path, map_location="cpu", weights_only=True)
        except pickle.UnpicklingError as error:
            raise InputError(
                f"refused checkpoint {path}: it holds more than tensors and plain values, "
                "or is damaged; nothing in it was run"
            ) from error
        # Foreign bytes can end torch's reader, which runs nothing in them, in any exception.
        except Exception as error:
            raise InputError(
                f"cannot read checkpoint {path} ({_first_line(error)}): it is truncated or "
                "damaged; delete it and start again"
            ) from error
        expected = {"format", "digest", "step", "method", "optimizer", "precision", "probe"}
        if not isinstance(content, dict) or not expected <= content.keys():
            raise InputError(f"{path} is no checkpoint of sag-vicreg")
        if not isinstance(content["format"], int) or content["format"] != _FORMAT:
            raise InputError(
                f"checkpoint {path} has format {content['format']}, this version reads {_FORMAT}"
            )
        if content["digest"] != self.digest:
            raise InputError(
                f"checkpoint {path} belongs to another recipe ({content['digest']}, this one is "
                f"{self.digest}): resume it in its own run folder"
            )
        return content

    def sweep(self) -> None:
        """Remove what a killed process left half-written."""
        for leftover in self.folder.glob(".step-*.pt"):
            leftover.unlink()


def _first_line(error: BaseException) -> str:
    strerror = getattr(error, "strerror", None)
    return strerror or str(error).strip().partition("\n")[0][:120]
