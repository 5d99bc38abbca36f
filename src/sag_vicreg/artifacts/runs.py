"""The run folder: one training run and everything made from it, by name."""

from dataclasses import dataclass
from pathlib import Path

from sag_vicreg.artifacts.atomic import finished_files

THUMBNAILS = "thumbnails.parquet"

_SPLITS = ("train", "test")


def split_of(embeddings: Path | str) -> str | None:
    """Tell the split from a name :meth:`Run.embedding_file` gives; None where it has none.

    The last such word counts, as a dataset's own name may hold one; but for the very last, where
    there is another: that names classes.

    Examples
    --------
    >>> split_of("folder-my-test-set-train-all"), split_of("cifar100-test-train")
    ('train', 'test')
    """
    *words, last = Path(embeddings).name.removesuffix(".parquet").split("-")
    return next((word for word in [*reversed(words), last] if word in _SPLITS), None)


def training_file(test: Path) -> Path:
    """Name the file of the training split beside the test split's."""
    before, _, after = test.name.rpartition("-test")
    return test.with_name(f"{before}-train{after}")


@dataclass(frozen=True)
class Run:
    """The names inside a run folder. Nothing is created or read until somebody asks for it."""

    folder: Path

    @property
    def recipe(self) -> Path:
        """The complete recipe, with seed and versions."""
        return self.folder / "recipe.yaml"

    @property
    def metrics(self) -> Path:
        """One row of losses and measures per logged step."""
        return self.folder / "metrics.csv"

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
        """Name the file of these images' embeddings; other images have another name."""
        parts = [dataset.replace("/", "-").replace(":", "-"), split, classes]
        if max_images is not None:
            parts.append(str(max_images))
        if seed:
            parts.append(f"seed{seed}")
        return self.embeddings / f"{'-'.join(parts)}.parquet"

    def embedding_files(self) -> list[Path]:
        """List the embedding files there are."""
        found = finished_files(self.embeddings, "*.parquet")
        return [path for path in found if path.name != THUMBNAILS]

    @property
    def results(self) -> Path:
        """Scores."""
        return self.folder / "results.json"
