"""The run folder: one training run and everything made from it."""

import hashlib
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sag_vicreg.artifacts.atomic import finished_files
from sag_vicreg.artifacts.contents import Contents
from sag_vicreg.artifacts.embeddings import read_contents
from sag_vicreg.artifacts.metrics import read_metrics
from sag_vicreg.errors import InputError

if TYPE_CHECKING:  # loaded where a recipe is read: files of embeddings have none
    from sag_vicreg.recipes import Recipe

THUMBNAILS = "thumbnails.parquet"
# Longer names of files are cut: some file systems end at 143 bytes.
_LONGEST_NAME = 60


@dataclass(frozen=True)
class EmbeddingFile:
    """A file of embeddings and what it says of its rows; None where it says nothing."""

    path: Path
    contents: Contents | None


@dataclass(frozen=True)
class Run:
    """A run folder: the names inside it, and what they hold once somebody asks."""

    folder: Path

    @classmethod
    def open(cls, folder: Path | str) -> "Run":
        """Open a folder that `train` wrote; refuse any other in one line."""
        run = cls(Path(folder))
        if not run.recipe.is_file():
            raise InputError(
                f"{folder} is not a run folder: it has no {run.recipe.name}; give a folder that "
                "`sag-vicreg train` wrote"
            )
        return run

    @property
    def recipe(self) -> Path:
        """The complete recipe, with seed and versions."""
        return self.folder / "recipe.yaml"

    def read_recipe(self) -> "Recipe":
        """Read the recipe."""
        from sag_vicreg.recipes import load_recipe

        return load_recipe(self.recipe)

    @property
    def metrics(self) -> Path:
        """One row of losses and measures per logged step."""
        return self.folder / "metrics.csv"

    def read_metrics(self) -> Mapping[str, NDArray[np.float64]]:
        """Read the log by column; empty before the first step was logged."""
        return read_metrics(self.metrics) if self.metrics.is_file() else {}

    @property
    def checkpoints(self) -> Path:
        """Training state, for resuming."""
        return self.folder / "checkpoints"

    @property
    def backbone(self) -> Path:
        """The backbone's weights, loadable in plain timm."""
        return self.folder / "backbone.safetensors"

    @property
    def config(self) -> Path:
        """What ``timm.create_model`` needs to rebuild the backbone."""
        return self.folder / "config.json"

    @property
    def resume_command(self) -> str:
        """What goes on with it, ready to be pasted into a shell."""
        return f"sag-vicreg train --resume {shlex.quote(str(self.folder))}"

    @property
    def results(self) -> Path:
        """Scores."""
        return self.folder / "results.json"

    @property
    def embeddings(self) -> Path:
        """Folder of ``*.parquet`` embedding files and their ``thumbnails.parquet``."""
        return self.folder / "embeddings"

    def embedding_file(
        self,
        dataset: str,
        split: str,
        classes: str,
        *,
        max_images: int | None = None,
        seed: int = 0,
    ) -> Path:
        """Name the file of these images' embeddings, for people: the file itself says more."""
        parts = [dataset, split, classes]
        for place, part in enumerate(parts):
            flat = part.replace("/", "-").replace(":", "-")
            # Where a name is cut, or a hyphen may have been another sign, a digest tells it apart.
            if len(flat.encode()) > _LONGEST_NAME or (flat != part and "-" in part):
                flat = f"{flat[:20]}-{hashlib.sha256(part.encode()).hexdigest()[:12]}"
            parts[place] = flat
        if max_images is not None:
            parts.append(str(max_images))
        if seed:
            parts.append(f"seed{seed}")
        return self.embeddings / f"{'-'.join(parts)}.parquet"

    def embedding_files(self) -> list[EmbeddingFile]:
        """List the embedding files there are, with what each says of itself."""
        return embedding_files(self.embeddings)

    def test_file(self) -> EmbeddingFile:
        """Choose the embeddings to score: of the run's own dataset, the test split.

        Only what `embed` was asked for counts. All images of all classes come first; else there
        must be one file alone.
        """
        dataset = self.read_recipe().dataset
        tests = [
            (file, c)
            for file in self.embedding_files()
            if (c := file.contents) is not None and (c.split, c.made_by) == ("test", "embed")
        ]
        own = [(file, c) for file, c in tests if c.dataset == dataset.name]
        every = ("all", None, dataset.seed)
        whole = [(f, c) for f, c in own if (c.classes, c.max_images, c.seed) == every]
        candidates = [file for file, _ in whole or own or tests]
        if not candidates:
            raise InputError(
                f"{self.folder} has no test embeddings: make them with "
                f"`sag-vicreg embed {self.folder} --dataset {dataset.name}`, "
                "and once more with --split train for k-NN and probe"
            )
        if len(candidates) > 1:
            raise InputError(
                f"{self.folder} has several files of test embeddings: {_listed(candidates)}; name "
                "one by its path"
            )
        return candidates[0]


def embedding_files(folder: Path) -> list[EmbeddingFile]:
    """List the embedding files of a folder, with what each says of itself."""
    return [
        EmbeddingFile(path, read_contents(path))
        for path in finished_files(folder, "*.parquet")
        if path.name != THUMBNAILS
    ]


def training_file(test: EmbeddingFile) -> EmbeddingFile | None:
    """Find the training images of the same model, dataset and classes beside a test file.

    As many images as the test file was limited to, or else all, or else the only file there is.
    """
    tested = test.contents
    if tested is None or tested.split != "test":
        return None
    beside = [
        (file, c.max_images)
        for file in embedding_files(test.path.parent)
        if (c := file.contents) is not None
        and c == replace(tested, split="train", made_by="embed", max_images=c.max_images)
    ]
    fitting = [
        file for limit in (tested.max_images, None) for file, most in beside if most == limit
    ]
    candidates = fitting[:1] or [file for file, _ in beside]
    if len(candidates) > 1:
        raise InputError(
            f"{test.path} has several files of training embeddings beside it: "
            f"{_listed(candidates)}; choose one by --train"
        )
    return candidates[0] if candidates else None


def _listed(files: Sequence[EmbeddingFile]) -> str:
    return ", ".join(file.path.name for file in files)
