"""What a report is made of: run folders, embedding files, results of a reproduction.

Everything is read from artifacts; nothing is trained or embedded here.
"""

import csv
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from sag_vicreg.artifacts import (
    THUMBNAILS,
    Embeddings,
    Result,
    Run,
    finished_files,
    read_embeddings,
    read_result,
)
from sag_vicreg.errors import InputError
from sag_vicreg.recipes import METHOD_LABELS, Recipe, load_recipe


@dataclass(frozen=True)
class Model:
    """One model: a run folder, or an embedding file alone.

    Attributes
    ----------
    named
        Whether its path was given; otherwise it was found below a folder that was.
    """

    name: str
    path: Path
    recipe: Recipe | None = None
    metrics: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    embeddings: Mapping[str, Path] = field(default_factory=dict)
    results: Mapping[str, Any] | None = None
    named: bool = True

    @property
    def is_empty(self) -> bool:
        """Whether there is a recipe and nothing else yet."""
        return not self.metrics and not self.embeddings and self.results is None

    def read(self, which: str) -> Embeddings:
        """Read the embedding file called ``which``."""
        return read_embeddings(self.embeddings[which])

    def thumbnails(self, which: str) -> Path | None:
        """Return the thumbnails beside that file, where there are any."""
        path = self.embeddings[which].with_name(THUMBNAILS)
        return path if path.is_file() else None


@dataclass(frozen=True)
class Sources:
    """Everything the paths given to a report hold."""

    models: tuple[Model, ...]
    results: tuple[Result, ...]
    """Of a reproduction, with scores."""
    failures: tuple[Result, ...]
    """Without scores: their training stopped itself."""


def open_sources(paths: Sequence[Path | str]) -> Sources:
    """Find the models and results behind ``paths``; say in one line what is wrong with one."""
    if not paths:
        raise InputError("nothing to report: give run folders, embedding files or both")
    models: list[Model] = []
    results: list[Result] = []
    for path in map(Path, paths):
        if path.is_dir():
            runs, found = _open_folder(path)
            models += runs
            results += found
        elif path.exists():
            models.append(Model(path.stem, path, embeddings={path.stem: path}))
        else:
            raise InputError(f"no such file or folder: {path}")
    # A result found in two folders is one.
    results = list({(result.family, result.seed): result for result in results}.values())
    finished = tuple(result for result in results if result.failure is None)
    if not models and not finished:
        raise InputError(
            f"every training in {', '.join(map(str, paths))} stopped itself: there is nothing to "
            "report before `sag-vicreg reproduce` has a result with scores"
        )
    failures = tuple(result for result in results if result.failure is not None)
    return Sources(_tell_apart(models), finished, failures)


def _open_folder(folder: Path) -> tuple[list[Model], list[Result]]:
    if Run(folder).recipe.is_file():
        model = _open_run(folder, named=True)
        if model.is_empty:
            raise InputError(
                f"{folder} has a recipe and nothing else yet: "
                "report it once `sag-vicreg train` has logged its first steps"
            )
        return [model], []
    recipes = sorted(folder.rglob("recipe.yaml"))
    files = finished_files(folder, "**/*.json")
    results = [result for path in files if (result := _read_reproduced(path))]
    if not recipes and not results:
        what = "is empty" if not any(folder.iterdir()) else "is not a run"
        raise InputError(
            f"{folder} {what}: no recipe.yaml and no results (trials of a search do not count) in "
            "it or below; give a folder that `sag-vicreg train` or `sag-vicreg reproduce` wrote, "
            "or an embedding file"
        )
    runs = [_open_run(path.parent, named=False) for path in recipes]
    # A run that has only begun has nothing to show beside the others.
    return sorted((run for run in runs if not run.is_empty), key=_order), results


def _order(model: Model) -> tuple[int, str, int]:
    """Sort runs of one folder: baseline first, first half before second, by seed."""
    assert model.recipe is not None
    return method_place(model.name), str(model.recipe.dataset.classes), model.recipe.seed


def method_label(name: str) -> str:
    """Write a method's name for people; one we do not know stays as it is."""
    return METHOD_LABELS.get(name, name)


def method_place(name: str) -> int:
    """Return where a method stands in a list: the baseline first."""
    methods = list(dict.fromkeys(METHOD_LABELS.values()))
    return methods.index(name) if name in methods else len(methods)


def _open_run(folder: Path, *, named: bool) -> Model:
    run = Run(folder)
    recipe = load_recipe(run.recipe)
    return Model(
        name=method_label(recipe.method.name),
        path=folder,
        recipe=recipe,
        metrics=_read_metrics(run.metrics) if run.metrics.is_file() else {},
        embeddings={path.stem: path for path in run.embedding_files()},
        results=_read_scores(run.results) if run.results.is_file() else None,
        named=named,
    )


def _read_json(path: Path) -> Any:
    def refuse(constant: str) -> NoReturn:
        raise ValueError(f"{constant} is not JSON")

    def finite(digits: str) -> float:
        number = float(digits)
        if not math.isfinite(number):
            refuse(digits)
        return number

    try:
        text = path.read_text(encoding="utf-8")
        return json.loads(text, parse_constant=refuse, parse_float=finite)
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read {path}: it is not JSON; make it again") from error


def _read_scores(path: Path) -> dict[str, Any]:
    content = _read_json(path)
    if not isinstance(content, dict) or not isinstance(content.get("probe", {}), dict):
        raise InputError(f"{path} holds no results: make it again with `sag-vicreg evaluate`")
    return content


def _read_reproduced(path: Path) -> Result | None:
    """Read a result of ``reproduce``; None for any other JSON file (a run has several).

    The trials of a learning-rate search are no results: they look at training images.
    """
    small = path.is_file() and path.stat().st_size < 1 << 20
    content = _read_json(path) if small else None
    if not isinstance(content, dict) or not {"kind", "family", "scores"} <= content.keys():
        return None
    return None if content["kind"] == "selection" else read_result(path)


def _read_metrics(path: Path) -> dict[str, NDArray[np.float64]]:
    """Read the numeric columns of ``metrics.csv``; an empty cell is NaN."""
    try:
        with path.open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"cannot read {path}: it is no log of a training") from error
    columns: dict[str, NDArray[np.float64]] = {}
    for name in rows[0] if rows else ():
        try:
            # The last line of a run being written may be cut short: its cells are then None.
            columns[name] = np.array([float(row[name] or "nan") for row in rows])
        except (TypeError, ValueError):
            continue
    return columns


def _tell_apart(models: Sequence[Model]) -> tuple[Model, ...]:
    """Name each model by what differs between them: method, dataset, classes, seed, folder."""
    recipes = [model.recipe for model in models if model.recipe is not None]
    several = {
        "dataset": len({r.dataset.name for r in recipes}) > 1,
        "classes": len({str(r.dataset.classes) for r in recipes}) > 1,
        "scale": len({r.scale for r in recipes}) > 1,
        "seed": len({r.seed for r in recipes}) > 1,
    }
    names = []
    for model in models:
        parts = [model.name]
        if (recipe := model.recipe) is not None:
            parts += [recipe.dataset.name] if several["dataset"] else []
            parts += [_classes(recipe)] if several["classes"] else []
            parts += [recipe.scale] if several["scale"] else []
            parts += [f"seed {recipe.seed}"] if several["seed"] else []
        names.append(", ".join(parts))
    # What is still the same name differs by its path.
    return tuple(
        replace(model, name=name if names.count(name) == 1 else f"{name} ({model.path})")
        for model, name in zip(models, names, strict=True)
    )


def _classes(recipe: Recipe) -> str:
    classes = recipe.dataset.classes
    return f"{classes} half" if classes in ("first", "second") else "all classes"
