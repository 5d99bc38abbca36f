"""What a report is made of: run folders, embedding files, results of a reproduction.

Everything is read from artifacts; nothing is trained or embedded here.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sag_vicreg.artifacts import (
    ColumnNames,
    EmbeddingFile,
    Result,
    Run,
    ScoreFile,
    Source,
    distinct_names,
    finished_files,
    is_dataset_folder,
    read_contents,
    read_result,
    read_scores,
)
from sag_vicreg.door import Kind, read_json
from sag_vicreg.errors import InputError
from sag_vicreg.recipes import METHOD_LABELS, Recipe

_ANY = Kind("a JSON file", "make it again, or move it away")


@dataclass(frozen=True)
class Model:
    """One model: a run folder, or an embedding file alone.

    Attributes
    ----------
    named
        Whether its path was given; otherwise it was found below a folder that was.
    columns
        What the columns of an embedding file are; a run's own files need no telling.
    """

    name: str
    path: Path
    recipe: Recipe | None = None
    metrics: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    embeddings: Mapping[Hashable, EmbeddingFile] = field(default_factory=dict)
    """By the images they are of; a file that does not say goes by its name."""
    results: ScoreFile | None = None
    named: bool = True
    columns: ColumnNames = field(default_factory=ColumnNames)

    @property
    def is_empty(self) -> bool:
        """Whether there is a recipe and nothing else yet."""
        return not self.metrics and not self.embeddings and self.results is None


@dataclass(frozen=True)
class Sources:
    """Everything the paths given to a report hold."""

    models: tuple[Model, ...]
    results: tuple[Result, ...]
    """Of a reproduction, with scores."""
    failures: tuple[Result, ...]
    """Without scores: their training stopped itself."""


def open_sources(
    paths: Sequence[Path | str], columns: Sequence[ColumnNames] | None = None
) -> Sources:
    """Find the models and results behind ``paths``; say in one line what is wrong with one.

    ``columns`` says, path by path, what the columns of embedding files are.
    """
    if not paths:
        raise InputError("nothing to report: give run folders, embedding files or both")
    models: list[Model] = []
    results: list[Result] = []
    for path, said in zip(map(Path, paths), columns or [ColumnNames()] * len(paths), strict=True):
        if path.is_dir() and not is_dataset_folder(path):
            runs, found = _open_folder(path)
            models += runs
            results += found
        elif path.exists():
            file = EmbeddingFile(path, read_contents(path))
            models.append(Model(path.stem, path, embeddings=_by_images([file]), columns=said))
        else:
            raise InputError(f"no such file or folder: {path}")
    # A result found in two folders is one: that with a forest, where only one of them has it.
    unique: dict[tuple[str, int], Result] = {}
    for result in results:
        other = unique.setdefault((result.family, result.seed), result)
        if result.forest_scores or not other.forest_scores:
            unique[result.family, result.seed] = result
    results = list(unique.values())
    finished = tuple(result for result in results if result.failure is None)
    if not models and not finished:
        why = (
            "stopped itself: there is nothing to report before `sag-vicreg reproduce` has a result "
            "with scores"
            if results
            else "has only begun: report them once `sag-vicreg train` has logged its first steps"
        )
        raise InputError(f"every training in {', '.join(map(str, paths))} {why}")
    failures = tuple(result for result in results if result.failure is not None)
    names = distinct_names([Source(model.path, model.recipe) for model in models])
    named = (replace(model, name=name) for model, name in zip(models, names, strict=True))
    return Sources(tuple(named), finished, failures)


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
    results = [
        result for path in finished_files(folder, "**/*.json") if (result := _read_reproduced(path))
    ]
    if not recipes and not results:
        what = "is empty" if not any(folder.iterdir()) else "is not a run"
        raise InputError(
            f"{folder} {what}: no recipe.yaml and no results (trials of a search do not count) in "
            "it or below; give a folder that `sag-vicreg train` or `sag-vicreg reproduce` wrote, "
            "or an embedding file; `--clusters` takes a folder of the files of one large table"
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
    run = Run.open(folder)
    recipe = run.read_recipe()
    return Model(
        name=recipe.method.title(),
        path=folder,
        recipe=recipe,
        metrics=run.read_metrics(),
        embeddings=_by_images(run.embedding_files()),
        results=read_scores(run.results) if run.results.is_file() else None,
        named=named,
    )


def _by_images(files: Sequence[EmbeddingFile]) -> dict[Hashable, EmbeddingFile]:
    return {
        file.path.stem if file.contents is None else file.contents.images: file for file in files
    }


def _read_reproduced(path: Path) -> Result | None:
    """Read a result of ``reproduce``; None for any other JSON file (a run has several).

    The trials of a learning-rate search do not count as results: they look at training images.
    """
    if not path.is_file() or path.stat().st_size > 1 << 20:
        return None
    content = read_json(path, _ANY, object)
    if not isinstance(content, dict) or not {"kind", "family", "scores"} <= content.keys():
        return None
    return None if content["kind"] == "selection" else read_result(path)
