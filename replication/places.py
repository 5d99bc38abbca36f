"""Where the repository keeps what is published: results, embeddings, points, pages."""

from dataclasses import dataclass
from pathlib import Path

RESULTS = Path("replication/results")


@dataclass(frozen=True)
class Places:
    """The places that go with a folder of published results, such as `RESULTS`."""

    results: Path = RESULTS

    @property
    def embeddings(self) -> Path:
        """Embeddings of the models behind the results."""
        return self.results.parent / "embeddings"

    @property
    def points(self) -> Path:
        """Reference points of the study."""
        return self.results.parent / "reference-points.json"

    def page(self, name: str) -> Path:
        """Return a page of the site, whose generated part is rewritten."""
        return self.results.parent.parent / "docs" / f"{name}.md"
