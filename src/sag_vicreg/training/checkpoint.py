"""Checkpoints: whole or refused, never unpickled beyond tensors and plain values.

A checkpoint holds the method (teachers, centres and queues included), the optimiser, and the step.
It holds no generator's state: randomness is a function of seed, epoch and step. Behind what
``torch.save`` writes stands its SHA-256, so that ``torch.load`` still reads the file and a changed
byte is found before any of it is used.
"""

import hashlib
import pickle
import re
import sys
import warnings
from pathlib import Path
from typing import IO, Any, NamedTuple

import torch
from torch import Tensor

from sag_vicreg.artifacts import Run, atomic_path
from sag_vicreg.errors import InputError, first_line

_FORMAT = 2
_SEAL = b"\nsag-vicreg checkpoint, sha256 of all before: "
_SEAL_LENGTH = len(_SEAL) + 64 + 1
_CHUNK = 1 << 20
_NAME = re.compile(r"step-(\d+)\.pt")
_TYPES: dict[str, Any] = {
    "step": int,
    "method": dict,
    "optimizer": dict,
    "precision": dict,
    "probe": Tensor | None,  # what ImageMonitor remembers
}


class DamagedCheckpointError(InputError):
    """A checkpoint that is not what was written: an older one may still be good."""


class Restored(NamedTuple):
    """A good checkpoint."""

    path: Path
    content: dict[str, Any]


class CheckpointStore:
    """The ``checkpoints`` folder of a run.

    The newest two are kept, the second for the case that the first is damaged, and those of every
    ``keep_every`` steps.
    """

    def __init__(self, run: Run, digest: str, *, keep_every: int | None = None) -> None:
        self.folder = run.checkpoints
        self.digest = digest
        self.keep_every = keep_every
        self._damaged: set[Path] = set()

    def path(self, step: int) -> Path:
        """Return the name of the checkpoint after ``step`` optimiser steps."""
        return self.folder / f"step-{step:08d}.pt"

    def newest(self) -> Path | None:
        """Return the newest checkpoint, if there is any."""
        return next(iter(self._newest_first()), None)

    def restore(self, *, quiet: bool = False) -> Restored | None:
        """Read the newest checkpoint that is whole; None where there is no checkpoint at all.

        Unless ``quiet``, it says which newer ones it has passed over.
        """
        passed_over: list[str] = []
        for path in self._newest_first():
            try:
                restored = Restored(path, self.load(path))
            except DamagedCheckpointError as error:
                self._damaged.add(path)
                passed_over.append(str(error))
            else:
                if not quiet:
                    for reason in passed_over:
                        print(f"{reason}: going on from {path.name}", file=sys.stderr)
                return restored
        if passed_over:
            raise DamagedCheckpointError(
                f"{passed_over[0]}; no older one is good either: train anew in another folder"
            )
        return None

    def save(self, step: int, state: dict[str, Any]) -> None:
        """Write a checkpoint; older ones go only when it is complete and on disk."""
        path = self.path(step)
        content = {"format": _FORMAT, "digest": self.digest, "step": step, **state}
        try:
            with atomic_path(path) as temporary:
                torch.save(content, temporary)
                seal(temporary)
        except (InputError, RuntimeError) as error:
            # torch's writer reports a full disk as a RuntimeError.
            reason = first_line(error.__cause__ or error)
            raise InputError(
                f"cannot write checkpoint {path} ({reason}): free some space, then resume; "
                f"{self.kept()}"
            ) from error
        self._damaged.discard(path)
        every = self._newest_first()
        good = [p for p, of in every.items() if of < step and p not in self._damaged]
        stays = {path, *good[:1]}
        if self.keep_every is not None:
            stays |= {p for p in good if every[p] % self.keep_every == 0}
        for old in every.keys() - stays:
            old.unlink()

    def kept(self) -> str:
        """Say what an interrupted run can go on from."""
        newest = self.newest()
        return f"checkpoint {newest.name} is kept" if newest else "there is no checkpoint yet"

    def load(self, path: Path) -> dict[str, Any]:
        """Read a checkpoint of this recipe; anything else is refused and nothing in it is run."""
        content = _read(path)
        if content["digest"] != self.digest:
            raise InputError(
                f"checkpoint {path} belongs to another recipe ({content['digest']}, this one is "
                f"{self.digest}): resume it in its own run folder"
            )
        if path != self.path(content["step"]):
            raise DamagedCheckpointError(
                f"checkpoint {path} was renamed: it was written at step {content['step']}"
            )
        return content

    def sweep(self) -> None:
        """Remove what a killed process left half-written."""
        for leftover in self.folder.glob(".step-*.pt"):
            leftover.unlink()

    def _newest_first(self) -> dict[Path, int]:
        """List the checkpoints that there are, each with the step of its name."""
        every = self.folder.glob("step-*.pt")
        steps = {path: int(named[1]) for path in every if (named := _NAME.fullmatch(path.name))}
        return dict(sorted(steps.items(), key=lambda item: item[1], reverse=True))


def seal(path: Path) -> None:
    """Put the checksum of a file behind it."""
    with path.open("r+b") as file:
        digest = _sha256(file, path.stat().st_size)
        file.write(_SEAL + digest.encode() + b"\n")


def _sha256(file: IO[bytes], length: int) -> str:
    digest = hashlib.sha256()
    while length > 0 and (chunk := file.read(min(_CHUNK, length))):
        digest.update(chunk)
        length -= len(chunk)
    return digest.hexdigest()


def _is_whole(path: Path) -> bool | None:
    """Whether a file is what was sealed; None where it has no seal."""
    length = max(path.stat().st_size - _SEAL_LENGTH, 0)
    with path.open("rb") as file:
        file.seek(length)
        seal = file.read()
        if not seal.startswith(_SEAL):
            return None
        file.seek(0)
        return seal == _SEAL + _sha256(file, length).encode() + b"\n"


def _read(path: Path) -> dict[str, Any]:
    """Read a checkpoint, verified, with all that one holds."""
    try:
        whole = _is_whole(path)
        if whole is False:
            raise DamagedCheckpointError(
                f"checkpoint {path} is damaged: its checksum does not match, so nothing of it is "
                "used"
            )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of foreign pickles, which are refused anyway
            content = torch.load(path, map_location="cpu", weights_only=True)
    except InputError:
        raise
    except pickle.UnpicklingError as error:
        raise DamagedCheckpointError(
            f"refused checkpoint {path}: it holds more than tensors and plain values, "
            "or is damaged; nothing in it was run"
        ) from error
    # Foreign bytes can end torch's reader, which runs nothing in them, in any exception.
    except Exception as error:
        raise DamagedCheckpointError(
            f"cannot read checkpoint {path} ({first_line(error)}): it is truncated or damaged"
        ) from error
    if not isinstance(content, dict) or not {"format", "digest", *_TYPES} <= content.keys():
        raise DamagedCheckpointError(f"{path} is not a checkpoint of sag-vicreg")
    if not isinstance(content["format"], int) or content["format"] != _FORMAT:
        raise InputError(
            f"checkpoint {path} has format {content['format']}, this version reads {_FORMAT}: "
            "finish the run with the version that began it (recipe.yaml names it), or train anew"
        )
    if whole is None:
        raise DamagedCheckpointError(f"checkpoint {path} is cut short: its checksum is missing")
    for key, kind in _TYPES.items():
        if not isinstance(content[key], kind) or isinstance(content[key], bool):
            raise DamagedCheckpointError(f"checkpoint {path} holds no {key} that can be used")
    return content
