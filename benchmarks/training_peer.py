"""The same backbone trained by our trainer and by a lightly pipeline, taking turns."""

import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sag_vicreg.machine import core_count, holding_memory
from sag_vicreg.progress import track

if TYPE_CHECKING:
    from sag_vicreg.data import ImageDataset
    from sag_vicreg.recipes import Recipe

# Steps of a turn that count; the one before them, which fills queues and caches, does not.
STEPS = 3


def images_per_second(recipe: "Recipe", repeats: int) -> tuple[float, float]:
    """Medians of ours and of lightly's, from data to update, one step's end to the next's.

    lightly's loader may have as many workers as there are cores, or none, whichever is faster.
    """
    from sag_vicreg.training.inputs import load_images

    images = load_images(recipe, "train", root=None)
    pipelines = [LightlyPipeline(recipe, images, workers) for workers in (0, core_count())]
    ours: list[float] = []
    theirs: dict[int, list[float]] = {pipeline.workers: [] for pipeline in pipelines}
    for _ in track(range(repeats), f"end to end, {recipe.backbone.name}"):
        ours.append(_rate(_ends_of_our_steps(recipe, images), recipe.batch_size))
        for pipeline in pipelines:
            theirs[pipeline.workers].append(_rate(pipeline.ends_of_steps(), recipe.batch_size))
    best = max(statistics.median(rates) for rates in theirs.values())
    return statistics.median(ours), best


def _rate(ends: list[float], batch_size: int) -> float:
    return (len(ends) - 1) * batch_size / (ends[-1] - ends[0])


def _ends_of_our_steps(recipe: "Recipe", images: "ImageDataset") -> list[float]:
    """Train as ``sag-vicreg train`` does, and note when each step ends."""
    import lightning.pytorch as pl

    from sag_vicreg.artifacts import Run
    from sag_vicreg.training.checkpoint import CheckpointStore
    from sag_vicreg.training.run import make_module
    from sag_vicreg.training.trainer import make_trainer, quiet_lightning

    ends: list[float] = []

    class Clock(pl.Callback):
        def on_train_batch_end(self, *_: Any) -> None:
            ends.append(time.perf_counter())

    schedule = recipe.schedule.model_copy(
        update={"epochs": None, "steps": STEPS + 1, "warmup_epochs": None, "warmup_share": 0.0}
    )
    short = recipe.model_copy(update={"schedule": schedule})
    with tempfile.TemporaryDirectory() as folder, quiet_lightning(), holding_memory():
        store = CheckpointStore(Run(Path(folder)), short.digest())
        trainer = make_trainer(short, [Clock()], folder=Path(folder))
        trainer.fit(make_module(short, images, store))
    return ends


class LightlyPipeline:
    """lightly's VICReg as its documentation has it: transform, DataLoader, head, loss, LARS."""

    def __init__(self, recipe: "Recipe", images: "ImageDataset", workers: int) -> None:
        import torch

        from sag_vicreg import torchvision_ops as torchvision_ops  # isort: skip
        import timm  # isort: skip
        from lightly.data import LightlyDataset  # isort: skip
        from lightly.loss import VICRegLoss  # isort: skip
        from lightly.models.modules.heads import VICRegProjectionHead  # isort: skip
        from lightly.transforms.vicreg_transform import VICRegTransform  # isort: skip
        from lightly.utils.lars import LARS  # isort: skip
        from torchvision.transforms.functional import to_pil_image  # isort: skip

        self.workers = workers
        pictures = [(to_pil_image(image), 0) for image in images.images]
        transform = VICRegTransform(input_size=recipe.dataset.image_size)
        self.loader = torch.utils.data.DataLoader(
            LightlyDataset.from_torch_dataset(_Pictures(pictures), transform=transform),
            batch_size=recipe.batch_size,
            shuffle=True,
            drop_last=True,
            num_workers=workers,
        )
        backbone = timm.create_model(recipe.backbone.name, num_classes=0, **recipe.backbone.args)
        *_, width = recipe.method.expander  # type: ignore[union-attr]
        head = VICRegProjectionHead(backbone.num_features, hidden_dim=width, output_dim=width)
        self.model = torch.nn.Sequential(backbone, head)
        self.loss = VICRegLoss()
        self.optimizer = LARS(self.model.parameters(), lr=0.3, momentum=0.9, weight_decay=1e-6)

    def ends_of_steps(self) -> list[float]:
        """Train, and note when each step ends."""
        ends = []
        for (first, second), *_ in self.loader:
            loss = self.loss(self.model(first), self.model(second))
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            ends.append(time.perf_counter())
            if len(ends) == STEPS + 1:
                break
        return ends


class _Pictures:
    """A dataset of pictures in memory, in torchvision's manner."""

    def __init__(self, items: list[tuple[Any, int]]) -> None:
        self.items = items
        self.transform = None

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, index: int) -> tuple[Any, int]:
        picture, label = self.items[index]
        return (picture if self.transform is None else self.transform(picture)), label
