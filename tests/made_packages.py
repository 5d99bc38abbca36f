"""Little packages that bring methods, datasets and measures, as an installer would leave them."""

from collections.abc import Mapping
from pathlib import Path


def make_package(
    site: Path, name: str, entries: Mapping[str, Mapping[str, str]], files: Mapping[str, str]
) -> Path:
    """Write modules and ``.dist-info`` into ``site``; ``entries`` are names by group."""
    for file, text in files.items():
        path = site / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    notes = site / f"{name.replace('-', '_')}-1.2.dist-info"
    notes.mkdir(parents=True)
    (notes / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2\n")
    lines = []
    for group, found in entries.items():
        lines += [f"[sag_vicreg.{group}]", *(f"{key} = {value}" for key, value in found.items())]
    (notes / "entry_points.txt").write_text("\n".join(lines) + "\n")
    return site


DECLARED = """
from typing import ClassVar, Literal
import numpy as np
from sag_vicreg.recipes import DatasetEntry, MethodSettings, PackagedRecipe
from sag_vicreg.scores import OwnMeasure

class Section(MethodSettings):
    implementation: ClassVar[str] = "outside.method:Attraction"
    recipes: ClassVar = (PackagedRecipe("attract", "resnet", "Attraction"),)
    fragments: ClassVar = ({"views": {"kind": "vicreg"}},)
    name: Literal["attract"]
    margin: float = 1.0

DOTS = DatasetEntry("dots", "some dots", "outside.images:load_dots", recipes="small",
    fragments=({"when": {"family": "resnet"}, "batch_size": 48, "schedule": {"epochs": 20}},))
FOLDER = DatasetEntry("dots:PATH", "dots of a file", "outside.images:load_dots")
SPREAD = OwnMeasure("spread", "Spread of classes", "Spread",
    of_set=lambda x, labels: np.mean([x[labels == c].std() for c in np.unique(labels)]))
GAP = OwnMeasure("gap", "Gap", better="lower", caveat="gap: of means", of_pair=lambda a, b:
    abs(a.mean() - b.mean()))
"""

METHOD = """
import torch
from sag_vicreg.losses import LossTerms
from sag_vicreg.methods import Method

class Attraction(Method):
    def __init__(self, backbone, head, margin):
        super().__init__(backbone)
        self.head, self.margin = head, margin

    @classmethod
    def from_numbers(cls, backbone, n_features, *, margin):
        return cls(backbone, torch.nn.Linear(n_features, 8), margin)

    def forward(self, views, moment):
        a, b = (self.head(self.backbone(view)) for view in views)
        noise = torch.randn(a.shape, generator=moment.generator("noise"))
        pull = (a - b).square().mean()
        push = torch.relu(self.margin - (a + 0.01 * noise).std(dim=0)).mean()
        return LossTerms(pull + push, {"pull": pull, "push": push})
"""

IMAGES = """
import numpy as np, torch
from sag_vicreg.data import Records

def load_dots(request):
    n = {"train": 96, "test": 48}[request.split]
    labels = np.arange(n) % 4
    rng = np.random.default_rng([request.seed, n])
    pixels = rng.integers(0, 60, (n, 3, 32, 32)) + 60 * labels[:, None, None, None]
    return Records(("a", "b", "c", "d"), labels, [f"{request.split}/{i}" for i in range(n)],
        pixels=torch.from_numpy(pixels.astype(np.uint8)))
"""

OUTSIDE = {
    "outside/__init__.py": DECLARED,
    "outside/method.py": METHOD,
    "outside/images.py": IMAGES,
}
ENTRIES = {
    "methods": {"attract": "outside:Section"},
    "datasets": {"dots": "outside:DOTS", "dots:PATH": "outside:FOLDER"},
    "measures": {"spread": "outside:SPREAD", "gap": "outside:GAP"},
}
