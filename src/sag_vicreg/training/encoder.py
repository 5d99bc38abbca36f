"""A backbone with the pixels it expects: from a run, from timm, or in the middle of training."""

import hashlib
import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import timm
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file
from torch import Tensor, nn

from sag_vicreg.artifacts import BackboneConfig, Run, read_backbone_config
from sag_vicreg.data import ImageDataset, normalize, resize_squares
from sag_vicreg.errors import InputError, NotFiniteError, first_line
from sag_vicreg.methods import (
    evaluating,
    make_backbone,
    output_width,
    unknown_backbone,
    uses_channels_last,
)
from sag_vicreg.progress import track
from sag_vicreg.published import IMAGE_MEAN, IMAGE_STD

# Where timm's models keep the layer that classifies.
_CLASSIFIER = ("fc.", "head.", "classifier.")


@dataclass(frozen=True)
class Encoder:
    """Images in, representations out, in evaluation mode.

    Attributes
    ----------
    backbone
        The network.
    image_size, mean, std
        Of the images it was trained on.
    """

    backbone: nn.Module
    image_size: int
    mean: tuple[float, ...] = IMAGE_MEAN
    std: tuple[float, ...] = IMAGE_STD

    def embed(
        self, dataset: ImageDataset, *, batch_size: int = 256, description: str | None = None
    ) -> NDArray[np.float32]:
        """Embed every image, (n, d), in the dataset's order; a description shows a bar.

        Vectors that are not finite are refused.
        """
        batches = torch.arange(len(dataset)).split(batch_size)
        shown = batches if description is None else track(batches, description)
        with evaluating(self.backbone), torch.inference_mode():
            parts = [
                self.backbone(self.pixels(dataset.batch(indices))).float().cpu()
                for indices in shown
            ]
        vectors = torch.cat(parts).numpy()
        broken = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
        if len(broken):
            raise NotFiniteError(
                f"the backbone gives NaN or infinite values for {len(broken)} of {len(vectors)} "
                f"images, first for {dataset.ids[broken[0]]}: its weights do not work"
            )
        return vectors

    def pixels(self, images: Tensor) -> Tensor:
        """Bring uint8 images to the backbone's device, size, normalisation and layout."""
        images = images.to(next(self.backbone.parameters()).device)
        if images.shape[-1] != self.image_size:
            images = resize_squares(images, self.image_size)
        pixels = normalize(images, self.mean, self.std)
        if uses_channels_last(self.backbone):
            pixels = pixels.contiguous(memory_format=torch.channels_last)
        return pixels


def encoder_of_run(run: Run) -> Encoder:
    """Load the exported backbone of a finished run."""
    config = finished_config(run)
    backbone = make_backbone(config.architecture, dict(config.model_args))
    load_weights(backbone, run.backbone)
    output_width(backbone, config.image_size)
    return Encoder(backbone, config.image_size, config.mean, config.std)


def finished_config(run: Run) -> BackboneConfig:
    """Read what a finished run exported; refuse another folder, and weights that were changed."""
    if not run.recipe.exists():
        raise InputError(f"{run.folder} is not a run folder: it holds no {run.recipe.name}")
    if not run.backbone.exists():
        raise InputError(f"{run.folder} is not finished: `{run.resume_command}` goes on")
    config = read_backbone_config(run.config)
    with run.backbone.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if config.sha256 not in (None, found):
        raise InputError(
            f"{run.backbone} is damaged: its SHA-256 is not that of {run.config.name}; delete it, "
            f"and `{run.resume_command}` exports it again"
        )
    return config


def encoder_of_timm(
    name: str, *, pretrained: bool, weights: Path | None, image_size: int | None
) -> Encoder:
    """Create a timm model, with timm's own weights, those of a file, or fresh ones."""
    if not timm.is_model(name):
        raise InputError(f"{name} is not a run folder or timm model: {unknown_backbone(name)}")
    try:
        backbone: Any = timm.create_model(name, pretrained=pretrained, num_classes=0)
    except Exception as error:  # whatever a download can fail with
        if not pretrained:
            raise InputError(f"timm cannot make {name}: {first_line(error)}") from error
        raise InputError(
            f"cannot get the pretrained weights of {name} ({first_line(error)}): "
            "download them elsewhere and give the file as weights"
        ) from error
    if weights is not None:
        load_weights(backbone, weights)
    config: dict[str, Any] = backbone.pretrained_cfg
    size = config["input_size"][-1] if image_size is None else image_size
    output_width(backbone, size)
    return Encoder(backbone, size, tuple(config["mean"]), tuple(config["std"]))


def load_weights(backbone: nn.Module, path: Path) -> None:
    """Load a state dict, safetensors or tensors-only PyTorch; a classifier in it is left out."""
    expected = backbone.state_dict()
    # Some models keep a norm of their own beside the classifier.
    found = {
        name: value
        for name, value in _read_state(path).items()
        if name in expected or not name.startswith(_CLASSIFIER)
    }
    for name in [*expected, *found]:
        wanted, held = (
            tuple(tensors[name].shape) if name in tensors else None for tensors in (expected, found)
        )
        if wanted != held:
            raise InputError(
                f"{path} holds the weights of another architecture: {name} should have shape "
                f"{wanted}, not {held}"
            )
    for name, tensor in found.items():
        if (
            not _is_plain(tensor)
            or tensor.is_floating_point() != expected[name].is_floating_point()
        ):
            raise InputError(
                f"{path} does not hold {name} as plain numbers of {expected[name].dtype}: save a "
                "state dict whose tensors are dense, on the CPU and not quantised"
            )
        if not bool(tensor.isfinite().all()):
            raise InputError(
                f"{path} holds NaN or infinite weights, in {name}: its training has diverged, or "
                "the file is damaged"
            )
    backbone.load_state_dict(found)


def _is_plain(tensor: Tensor) -> bool:
    """Whether a tensor is an array of real numbers in memory: others convert silently or crash."""
    return (
        tensor.layout is torch.strided
        and tensor.device.type == "cpu"
        and not tensor.is_quantized
        and not tensor.is_complex()
    )


def _read_state(path: Path) -> dict[str, Tensor]:
    try:
        if path.suffix == ".safetensors":
            return load_file(path)
        content = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise InputError(
            f"refused {path}: it holds more than tensors and plain values, or is damaged"
        ) from error
    # Foreign bytes can end either reader, which runs nothing in them, in any exception.
    except Exception as error:
        raise InputError(f"cannot read weights from {path}: {first_line(error)}") from error
    content = content.get("state_dict", content) if isinstance(content, dict) else None
    if not isinstance(content, dict) or not all(
        isinstance(name, str) and isinstance(value, Tensor) for name, value in content.items()
    ):
        raise InputError(f"{path} holds no state dict: a mapping of names to tensors")
    return content
