"""The run folder: one training run and everything made from it, by name."""

from dataclasses import dataclass
from pathlib import Path


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

    @property
    def results(self) -> Path:
        """Scores."""
        return self.folder / "results.json"
