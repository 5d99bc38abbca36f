"""Loggers and callbacks of Lightning by name, for the command line.

Names come from the command line alone, never from a recipe or a run folder: what they name is code.
"""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TypeVar

import lightning.pytorch as pl
from lightning.pytorch.loggers import CSVLogger, Logger, MLFlowLogger, WandbLogger

from sag_vicreg.errors import InputError, unknown_name

T = TypeVar("T")
LOGGERS: dict[str, Callable[[Path], Logger]] = {
    "csv": lambda folder: CSVLogger(folder, name="csv", version=""),
    "wandb": lambda folder: WandbLogger(folder.name, save_dir=folder, project="sag-vicreg"),
    "mlflow": lambda folder: MLFlowLogger("sag-vicreg", folder.name, save_dir=f"{folder}/mlruns"),
}


def make_logger(name: str, folder: Path) -> Logger:
    """Make a logger: ``csv``, ``wandb``, ``mlflow``, or ``module:Class`` without arguments."""
    if ":" in name:
        return _made(name, Logger)  # type: ignore[type-abstract]
    if name == "tensorboard":
        raise InputError(
            f"TensorBoard's log is always written, to {folder}/tensorboard: leave the logger out"
        )
    if name not in LOGGERS:
        raise unknown_name("logger", name, [*LOGGERS, "module:Class"])
    try:
        return LOGGERS[name](folder)
    except ImportError as error:
        raise InputError(f"logger {name} is not installed: pip install {name}") from error


def make_callback(name: str) -> pl.Callback:
    """Make a callback: ``module:Class`` without arguments."""
    return _made(name, pl.Callback)


def _made(name: str, kind: type[T]) -> T:
    module, colon, attribute = name.partition(":")
    if not colon or not module or not attribute:
        raise InputError(f"'{name}' does not name a {kind.__name__.lower()}: write module:Class")
    try:
        made = getattr(import_module(module), attribute)()
    except (ImportError, AttributeError) as error:
        raise InputError(
            f"cannot find {name} ({error}): install its package, or put its folder on PYTHONPATH"
        ) from error
    except TypeError as error:
        raise InputError(
            f"{name} needs arguments ({error}): name a function that makes it, module:make"
        ) from error
    if not isinstance(made, kind):
        raise InputError(f"{name} makes a {type(made).__name__}, not a Lightning {kind.__name__}")
    return made
