"""VICReg whose partners the labels choose, and models trained so."""

from collections.abc import Sequence
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor

from sag_vicreg.losses import LossTerms, VICRegLoss
from sag_vicreg.methods import Moment, TwoViewMethod
from sag_vicreg.pairing import Pairs, RandomWalkPairing
from sag_vicreg.recipes import Recipe
from sag_vicreg.training import train
from sag_vicreg.training.batches import Plan
from sag_vicreg.training.encoder import Encoder
from sag_vicreg.training.inputs import load_images
from sag_vicreg.training.run import untrained_method


def class_pairs(
    labels: Tensor, *, share: float, weight: float, generator: torch.Generator
) -> Pairs:
    """Pair a share of the rows with a classmate of the batch, drawn evenly, the others at home.

    A row without classmates stays at home too, where every pair has weight 1.
    """
    own = torch.arange(len(labels))
    classmates = (labels == labels[:, None]).float().fill_diagonal_(0)
    leaves = torch.rand(len(labels), generator=generator) < share
    leaves &= classmates.any(dim=1)
    indices = own.clone()
    if leaves.any():
        indices[leaves] = torch.multinomial(classmates[leaves], 1, generator=generator).squeeze(1)
    return Pairs(indices, torch.where(leaves, weight, 1.0))


class ClassPairedVICReg(TwoViewMethod):
    """VICReg between each row and what :func:`class_pairs` draws for it.

    Parameters
    ----------
    method
        VICReg or SAG-VICReg: backbone, head and the weights of the loss.
    labels
        Of all images of ``plan``.
    share, weight
        How many rows are paired with a classmate, and how heavy such a pair is.
    """

    def __init__(
        self, method: TwoViewMethod, labels: Tensor, plan: Plan, *, share: float, weight: float
    ) -> None:
        terms = method.loss
        assert isinstance(terms, VICRegLoss)
        loss = VICRegLoss(
            invariance=terms.invariance,
            variance=terms.variance,
            covariance=terms.covariance,
            pairing=RandomWalkPairing(),  # which takes the pairs it is given
        )
        super().__init__(method.backbone, method.head, loss)
        self.labels, self.plan, self.share, self.weight = labels, plan, share, weight

    def forward(self, views: Sequence[Tensor], moment: Moment) -> LossTerms:
        """Compare each row with a classmate or with its own view."""
        pairs = class_pairs(
            self.labels[self.plan.indices(moment)],
            share=self.share,
            weight=self.weight,
            generator=moment.generator("class_pairs"),
        )
        z, z_prime = (self.head(self.backbone(view)) for view in views)
        terms: LossTerms = self.loss(z, z_prime, pairs=pairs)
        return terms


def train_on_classes(recipe: Recipe, folder: Path, *, share: float, weight: float) -> Encoder:
    """Train ``recipe`` on pairs of classmates, or go on with it; returns what embeds by it."""
    images = load_images(recipe, "train", root=None)
    method = untrained_method(recipe)
    assert isinstance(method, TwoViewMethod)
    paired = ClassPairedVICReg(
        method, images.labels, Plan(recipe, len(images)), share=share, weight=weight
    )
    run = train(recipe, folder, method=paired, resume=(folder / "recipe.yaml").is_file())
    # A run that had ended before is not loaded by `train`.
    paired.encoder.load_state_dict(load_file(run.backbone))
    return Encoder(paired.encoder, recipe.dataset.image_size)
