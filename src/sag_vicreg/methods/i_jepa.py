"""I-JEPA (Assran et al., 2023, https://arxiv.org/abs/2301.08243): predict representations."""

import copy
from collections.abc import Sequence

import torch
from lightly.models.modules.ijepa_timm import IJEPAPredictorTIMM
from lightly.models.utils import apply_masks, deactivate_requires_grad, update_momentum
from torch import Tensor, nn
from torch.nn import functional as F

from sag_vicreg.errors import InputError
from sag_vicreg.losses import LossTerms
from sag_vicreg.methods.base import Method
from sag_vicreg.methods.masks import multiblock_masks
from sag_vicreg.methods.moment import Moment
from sag_vicreg.methods.transformer import as_transformer, at_least_float32, masked, over_the_batch
from sag_vicreg.pairing import full_precision
from sag_vicreg.recipes import Recipe
from sag_vicreg.recipes.method_sections import IJEPASection


class IJEPA(Method):
    """From a context block, predict what a momentum encoder says of four target blocks.

    The encoder has no class token, so token and patch numbers are the same. What is exported and
    embedded with is the target encoder, as in the paper; its output is the mean of its patch
    tokens.
    """

    def __init__(self, recipe: Recipe) -> None:
        super().__init__(recipe)
        section = recipe.method
        assert isinstance(section, IJEPASection)
        self.section = section
        vit = as_transformer(self.backbone, "i-jepa")
        if vit.num_prefix_tokens:
            raise InputError(
                f"i-jepa encodes patches only and the backbone has {vit.num_prefix_tokens} other "
                "tokens: set backbone.args.class_token to false and leave reg_tokens out"
            )
        # In a tuple, so that the backbone is registered once, under its own name. It keeps timm's
        # truncated normal weights.
        self._masked = (masked(vit, "i-jepa", weight_initialization="skip"),)
        self.target = copy.deepcopy(self.backbone)
        deactivate_requires_grad(self.target)
        self.predictor = IJEPAPredictorTIMM(
            num_patches=vit.patch_embed.num_patches,
            depth=section.predictor_depth,
            mlp_dim=vit.embed_dim,
            predictor_embed_dim=section.predictor_dim,
            num_heads=section.predictor_heads,
        )
        # lightly leaves layers at PyTorch's initial weights and the mask token at zero.
        self.predictor.apply(_initialize)
        nn.init.trunc_normal_(self.predictor.decoder.mask_token, std=0.02)
        self.side = int(vit.patch_embed.grid_size[0])

    @property
    def encoder(self) -> nn.Module:
        """The target encoder."""
        return self.target

    def forward(self, views: Sequence[Tensor], moment: Moment) -> LossTerms:
        """Predict each target block's representation from the context."""
        (images,) = views
        masks = multiblock_masks(
            moment.batch_size, self.side, self.section, generator=moment.generator("masks")
        ).rows(moment.rows)
        context = masks.context.to(images.device)
        targets = list(masks.targets.to(images.device))
        with torch.no_grad():
            whole = as_transformer(self.target, "i-jepa").forward_features(images)
            whole = F.layer_norm(whole, whole.shape[-1:])
            wanted = apply_masks(whole, targets)
        encoded = self._masked[0].encode(images, idx_keep=context)
        predicted = self.predictor(encoded, context, targets)
        with full_precision(predicted):
            loss = F.smooth_l1_loss(at_least_float32(predicted), at_least_float32(wanted))
        loss = over_the_batch(loss, len(images), moment)
        return LossTerms(loss, {"prediction": loss})

    def after_step(self, moment: Moment) -> None:
        """Let the target encoder follow, its momentum rising linearly to 1."""
        start = self.section.momentum
        momentum = start + (1 - start) * (moment.step + 1) / moment.total_steps
        update_momentum(self.backbone, self.target, momentum)


def _initialize(module: nn.Module) -> None:
    if isinstance(module, nn.Linear):
        nn.init.trunc_normal_(module.weight, std=0.02)
        nn.init.zeros_(module.bias)
