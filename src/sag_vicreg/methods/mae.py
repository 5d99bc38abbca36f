"""MAE (He et al., 2021, https://arxiv.org/abs/2111.06377): reconstruct what was masked."""

from collections.abc import Sequence

import torch
from lightly.models.modules.masked_vision_transformer_decoder_timm import (
    MaskedVisionTransformerDecoderTIMM,
)
from lightly.models.modules.masked_vision_transformer_timm import init_weights
from lightly.models.utils import (
    get_at_index,
    normalize_mean_var,
    patchify,
    repeat_token,
    set_at_index,
    unpatchify,
)
from torch import Tensor, nn

from sag_vicreg.distributed import at_least_float32, full_precision, over_the_batch
from sag_vicreg.losses import LossTerms
from sag_vicreg.methods.base import Method
from sag_vicreg.methods.masks import random_masks
from sag_vicreg.methods.moment import Moment
from sag_vicreg.methods.transformer import as_transformer, masked

_EPS = 1e-6


class MAE(Method):
    """An encoder sees a quarter of the patches; a small decoder paints the others.

    The loss looks at masked patches only and, as in the paper's best setting, at each patch
    relative to its own mean and deviation. The recipe's backbone has ``global_pool: avg``, so its
    output is the mean of the patch tokens.

    Parameters
    ----------
    backbone
        One of timm's vision transformers; it gets MAE's initial weights and fixed positions.
    mask_ratio
        Share of the patches that are hidden.
    decoder_dim, decoder_depth, decoder_heads
        Width, blocks and attention heads of the decoder.
    normalize_targets
        Compare each patch relative to its own mean and deviation.
    """

    def __init__(
        self,
        backbone: nn.Module,
        *,
        mask_ratio: float,
        decoder_dim: int,
        decoder_depth: int,
        decoder_heads: int,
        normalize_targets: bool,
    ) -> None:
        super().__init__(backbone)
        self.mask_ratio = mask_ratio
        self.normalize_targets = normalize_targets
        vit = as_transformer(backbone, "mae")
        self.patch_size = int(vit.patch_embed.patch_size[0])
        self.n_patches = int(vit.patch_embed.num_patches)
        self.n_prefix = int(vit.num_prefix_tokens)
        # In a tuple, so that the backbone is registered once, under its own name. Making it gives
        # the backbone MAE's initial weights.
        self._masked = (masked(vit, "mae"),)
        self.decoder_embed = nn.Linear(vit.embed_dim, decoder_dim)
        self.decoder = MaskedVisionTransformerDecoderTIMM(
            num_patches=self.n_patches,
            embed_dim=decoder_dim,
            depth=decoder_depth,
            num_heads=decoder_heads,
            num_prefix_tokens=self.n_prefix,
        )
        self.decoder_pixels = nn.Linear(decoder_dim, 3 * self.patch_size**2)
        self.decoder_embed.apply(init_weights)
        self.decoder_pixels.apply(init_weights)

    def forward(self, views: Sequence[Tensor], moment: Moment) -> LossTerms:
        """Mask, encode, decode, and compare the masked patches."""
        (images,) = views
        masks = random_masks(
            moment.batch_size,
            self.n_patches,
            mask_ratio=self.mask_ratio,
            generator=moment.generator("masks"),
        )
        visible, masked = (patches[moment.rows].to(images.device) for patches in masks)
        predicted = self.predict(images, visible)
        with full_precision(predicted):
            error = get_at_index(at_least_float32(predicted) - self.targets(images), masked)
            loss = over_the_batch(error.square().mean(), len(images), moment.batch_size)
        return LossTerms(loss, {"reconstruction": loss})

    def targets(self, images: Tensor) -> Tensor:
        """Return the pixels of every patch, (n, patches, pixels), normalised where asked."""
        patches: Tensor = patchify(images, self.patch_size)
        if self.normalize_targets:
            patches = normalize_mean_var(patches, eps=_EPS)
        return patches

    def predict(self, images: Tensor, visible: Tensor) -> Tensor:
        """Return the decoder's pixels of every patch, (n, patches, pixels)."""
        n = len(images)
        # The class token comes first in the sequence and is always kept.
        prefix = torch.arange(self.n_prefix, device=images.device).expand(n, -1)
        keep = torch.cat((prefix, visible + self.n_prefix), dim=1)
        encoded = self.decoder_embed(self._masked[0].encode(images, idx_keep=keep))
        hidden = repeat_token(self.decoder.mask_token, (n, self.n_prefix + self.n_patches))
        tokens = set_at_index(hidden, keep, encoded.type_as(hidden))
        pixels: Tensor = self.decoder_pixels(self.decoder(tokens)[:, self.n_prefix :])
        return pixels

    @torch.no_grad()
    def reconstruct(self, images: Tensor, visible: Tensor) -> tuple[Tensor, Tensor]:
        """Return the images with their masked patches grey, and with them painted.

        Where targets are normalised the network says nothing of a patch's brightness and contrast;
        as in the official demonstration both are taken from the original.

        Parameters
        ----------
        images : (n, 3, h, w)
            Normalised images.
        visible : (n, kept)
            Patches the encoder sees.
        """
        patches = patchify(images, self.patch_size)
        painted = at_least_float32(self.predict(images, visible))
        if self.normalize_targets:
            deviation = (patches.var(dim=-1, keepdim=True) + _EPS).sqrt()
            painted = painted * deviation + patches.mean(dim=-1, keepdim=True)
        shown = get_at_index(patches, visible)
        # Zero is the mean colour of a normalised image.
        grey = set_at_index(torch.zeros_like(patches), visible, shown)
        painted = set_at_index(painted, visible, shown)
        return unpatchify(grey, self.patch_size), unpatchify(painted, self.patch_size)
