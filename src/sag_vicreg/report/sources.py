"""What a report is made of: run folders, embedding files, results of a reproduction.

Everything is read from artifacts; nothing is trained or embedded here.
"""

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sag_vicreg.artifacts import THUMBNAILS, Embeddings, Run, finished_files, read_embeddings
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
class Halves:
    """Mean and deviation of one score over random halves of the images."""

    mean: float
    deviation: float


@dataclass(frozen=True)
class Outcome:
    """One result file of ``reproduce``: flat scores (``lca.pearson``, ``knn.level1``).

    Only outcomes of one ``family`` may be averaged: they differ in nothing but the seed.
    """

    method: str
    seed: int
    family: str
    images: Mapping[str, Any]
    options: Mapping[str, Any]
    recipes: Sequence[Mapping[str, Any]]
    scores: Mapping[str, float]
    halves: Mapping[str, Halves]
    failed: bool


@dataclass(frozen=True)
class Sources:
    """Everything the paths given to a report hold."""

    models: tuple[Model, ...]
    outcomes: tuple[Outcome, ...]
    failures: tuple[Outcome, ...]
    """Results without scores: their training stopped itself."""


def open_sources(paths: Sequence[Path | str]) -> Sources:
    """Find the models and results behind ``paths``; say in one line what is wrong with one."""
    if not paths:
        raise InputError("nothing to report: give run folders, embedding files or both")
    models: list[Model] = []
    outcomes: list[Outcome] = []
    for path in map(Path, paths):
        if path.is_dir():
            found, results = _open_folder(path)
            models += found
            outcomes += results
        elif path.exists():
            models.append(Model(path.stem, path, embeddings={path.stem: path}))
        else:
            raise InputError(f"no such file or folder: {path}")
    # A result found in two folders is one.
    outcomes = list({(o.family, o.seed): o for o in outcomes}.values())
    finished = tuple(o for o in outcomes if not o.failed)
    if not models and not finished:
        raise InputError(
            f"every training in {', '.join(map(str, paths))} stopped itself: there is nothing to "
            "report before `sag-vicreg reproduce` has a result with scores"
        )
    return Sources(_tell_apart(models), finished, tuple(o for o in outcomes if o.failed))


def _open_folder(folder: Path) -> tuple[list[Model], list[Outcome]]:
    if Run(folder).recipe.is_file():
        model = _open_run(folder, named=True)
        if model.is_empty:
            raise InputError(
                f"{folder} has a recipe and nothing else yet: "
                "report it once `sag-vicreg train` has logged its first steps"
            )
        return [model], []
    recipes = sorted(folder.rglob("recipe.yaml"))
    outcomes = [o for path in finished_files(folder, "**/*.json") if (o := _read_outcome(path))]
    if not recipes and not outcomes:
        what = "is empty" if not any(folder.iterdir()) else "is not a run"
        raise InputError(
            f"{folder} {what}: no recipe.yaml and no results (trials of a search do not count) in "
            "it or below; give a folder that `sag-vicreg train` or `sag-vicreg reproduce` wrote, "
            "or an embedding file"
        )
    runs = [_open_run(path.parent, named=False) for path in recipes]
    # A run that has only begun has nothing to show beside the others.
    return sorted((run for run in runs if not run.is_empty), key=_order), outcomes


def _order(model: Model) -> tuple[int, str, int]:
    """Sort runs of one folder: baseline first, first half before second, by seed."""
    assert model.recipe is not None
    return method_place(model.name), str(model.recipe.dataset.classes), model.recipe.seed


def method_place(name: str) -> int:
    """Return where a method stands in a list: the baseline first."""
    methods = list(dict.fromkeys(METHOD_LABELS.values()))
    return methods.index(name) if name in methods else len(methods)


def _open_run(folder: Path, *, named: bool) -> Model:
    run = Run(folder)
    recipe = load_recipe(run.recipe)
    return Model(
        name=METHOD_LABELS.get(recipe.method.name, recipe.method.name),
        path=folder,
        recipe=recipe,
        metrics=_read_metrics(run.metrics) if run.metrics.is_file() else {},
        embeddings={path.stem: path for path in run.embedding_files()},
        results=_read_scores(run.results) if run.results.is_file() else None,
        named=named,
    )


def _read_json(path: Path) -> Any:
    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is not JSON")

    try:
        return json.loads(path.read_text(encoding="utf-8"), parse_constant=refuse)
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read {path}: it is not JSON; make it again") from error


def _read_scores(path: Path) -> dict[str, Any]:
    content = _read_json(path)
    if not isinstance(content, dict):
        raise InputError(f"{path} holds no results: make it again with `sag-vicreg evaluate`")
    return content


def _read_outcome(path: Path) -> Outcome | None:
    """Read a result of ``reproduce``; None for any other JSON file (a run has several).

    The trials of a learning-rate search are no results: they look at training images.
    """
    content = _read_json(path) if path.stat().st_size < 1 << 20 else None
    keys = {"kind", "family", "method", "seed", "images", "models", "scores", "half_samples"}
    if not isinstance(content, dict) or not keys <= content.keys():
        return None
    if content["kind"] == "selection":
        return None
    try:
        return Outcome(
            method=METHOD_LABELS.get(content["method"], str(content["method"])),
            seed=content["seed"],
            family=content["family"],
            images=dict(content["images"]),
            options=dict(content.get("options", {})),
            recipes=[dict(recipe) for recipe in content["models"]],
            scores=dict(content["scores"]),
            halves={key: Halves(**value) for key, value in content["half_samples"].items()},
            failed=content.get("failure") is not None,
        )
    except (AttributeError, TypeError, ValueError) as error:
        raise InputError(f"{path} is a damaged result of `reproduce`: move it away") from error


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
