"""I-JEPA (Assran et al., 2023, https://arxiv.org/abs/2301.08243): predict representations."""

from collections.abc import Sequence
from functools import partial

import torch
from lightly.models.modules.ijepa_timm import IJEPAPredictorTIMM
from lightly.models.utils import apply_masks, update_momentum
from torch import Tensor, nn
from torch.nn import functional as F

from sag_vicreg.distributed import at_least_float32, full_precision, over_the_batch
from sag_vicreg.errors import InputError
from sag_vicreg.losses import LossTerms
from sag_vicreg.methods.base import Method
from sag_vicreg.methods.masks import multiblock_masks
from sag_vicreg.methods.moment import Moment
from sag_vicreg.methods.teacher import momentum_teacher
from sag_vicreg.methods.transformer import as_transformer, masked


class IJEPA(Method):
    """From a context block, predict what a momentum encoder says of four target blocks.

    The encoder has no class token, so token and patch numbers are the same. What is exported and
    embedded with is the target encoder, as in the paper; its output is the mean of its patch
    tokens.

    Parameters
    ----------
    backbone
        One of timm's vision transformers, without a class token; its positions become fixed.
    target_blocks, target_scale, target_aspect
        Rectangles to predict: how many, their share of the grid, height over width.
    context_scale, min_context_patches
        The context's share of the grid, and the fewest patches the targets may leave of it.
    predictor_dim, predictor_depth, predictor_heads
        Width, blocks and attention heads of the predictor.
    momentum
        Of the target encoder at the start; rises to 1.
    """

    def __init__(
        self,
        backbone: nn.Module,
        *,
        target_blocks: int,
        target_scale: tuple[float, float],
        target_aspect: tuple[float, float],
        context_scale: tuple[float, float],
        min_context_patches: int,
        predictor_dim: int,
        predictor_depth: int,
        predictor_heads: int,
        momentum: float,
    ) -> None:
        super().__init__(backbone)
        self.momentum = momentum
        self.draw_masks = partial(
            multiblock_masks,
            target_blocks=target_blocks,
            target_scale=target_scale,
            target_aspect=target_aspect,
            context_scale=context_scale,
            min_context_patches=min_context_patches,
        )
        vit = as_transformer(backbone, "i-jepa")
        if vit.num_prefix_tokens:
            raise InputError(
                f"i-jepa encodes patches only and the backbone has {vit.num_prefix_tokens} other "
                "tokens: set backbone.args.class_token to false and leave reg_tokens out"
            )
        # In a tuple, so that the backbone is registered once, under its own name. It keeps timm's
        # truncated normal weights.
        self._masked = (masked(vit, "i-jepa", weight_initialization="skip"),)
        self.target = momentum_teacher(backbone)
        self.predictor = IJEPAPredictorTIMM(
            num_patches=vit.patch_embed.num_patches,
            depth=predictor_depth,
            mlp_dim=vit.embed_dim,
            predictor_embed_dim=predictor_dim,
            num_heads=predictor_heads,
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
        generator = moment.generator("masks")
        masks = self.draw_masks(moment.batch_size, self.side, generator=generator).rows(moment.rows)
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
        loss = over_the_batch(loss, len(images), moment.batch_size)
        return LossTerms(loss, {"prediction": loss})

    def after_step(self, moment: Moment) -> None:
        """Let the target encoder follow, its momentum rising linearly to 1."""
        momentum = self.momentum + (1 - self.momentum) * (moment.step + 1) / moment.total_steps
        update_momentum(self.backbone, self.target, momentum)


def _initialize(module: nn.Module) -> None:
    if isinstance(module, nn.Linear):
        nn.init.trunc_normal_(module.weight, std=0.02)
        nn.init.zeros_(module.bias)
