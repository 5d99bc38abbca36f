"""VICReg whose partners the labels choose, and models trained so."""

from collections.abc import Sequence
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor
from torch.nn.functional import normalize

from replication.ceiling import Row
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
    labels: Tensor,
    *,
    share: float,
    weight: float,
    generator: torch.Generator,
    cosines: Tensor | None = None,
) -> Pairs:
    """Pair a share of the rows with a classmate of the batch, the others at home.

    The classmate is drawn evenly, or is the one of the highest cosine where ``cosines`` (n, n) are
    given. A row without classmates stays at home too, where every pair has weight 1.
    """
    own = torch.arange(len(labels))
    classmates = (labels == labels[:, None]).fill_diagonal_(False)
    leaves = torch.rand(len(labels), generator=generator) < share
    leaves &= classmates.any(dim=1)
    indices = own.clone()
    if cosines is not None:
        indices[leaves] = cosines.masked_fill(~classmates, -torch.inf).argmax(dim=1)[leaves]
    elif leaves.any():
        drawn = torch.multinomial(classmates[leaves].float(), 1, generator=generator)
        indices[leaves] = drawn.squeeze(1)
    return Pairs(indices, torch.where(leaves, weight, 1.0))


class ClassPairedVICReg(TwoViewMethod):
    """VICReg between each row and what :func:`class_pairs` draws for it.

    Parameters
    ----------
    method
        VICReg or SAG-VICReg: backbone, head and the weights of the loss.
    labels
        Of all images of ``plan``.
    row
        Who is paired with a classmate, how heavy such a pair is, and which one it is.
    """

    def __init__(self, method: TwoViewMethod, labels: Tensor, plan: Plan, row: Row) -> None:
        terms = method.loss
        assert isinstance(terms, VICRegLoss)
        loss = VICRegLoss(
            invariance=terms.invariance,
            variance=terms.variance,
            covariance=terms.covariance,
            pairing=RandomWalkPairing(),  # which takes the pairs it is given
        )
        super().__init__(method.backbone, method.head, loss)
        self.labels, self.plan, self.row = labels, plan, row

    def forward(self, views: Sequence[Tensor], moment: Moment) -> LossTerms:
        """Compare each row with a classmate or with its own view."""
        z, z_prime = (self.head(self.backbone(view)) for view in views)
        directions = normalize(z_prime.detach(), dim=1)
        pairs = class_pairs(
            self.labels[self.plan.indices(moment)],
            share=self.row.share,
            weight=self.row.weight,
            generator=moment.generator("class_pairs"),
            cosines=directions @ directions.T if self.row.nearest else None,
        )
        terms: LossTerms = self.loss(z, z_prime, pairs=pairs)
        return terms


def train_on_classes(recipe: Recipe, folder: Path, row: Row) -> Encoder:
    """Train ``recipe`` on pairs of classmates, or go on with it; returns what embeds by it."""
    images = load_images(recipe, "train", root=None)
    method = untrained_method(recipe)
    assert isinstance(method, TwoViewMethod)
    paired = ClassPairedVICReg(method, images.labels, Plan(recipe, len(images)), row)
    run = train(recipe, folder, method=paired, resume=(folder / "recipe.yaml").is_file())
    # A run that had ended before is not loaded by `train`.
    paired.encoder.load_state_dict(load_file(run.backbone))
    return Encoder(paired.encoder, recipe.dataset.image_size)
