"""The trained backbone as files that plain timm loads."""

from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import save_file

from sag_vicreg.artifacts import Run, atomic_path, write_json
from sag_vicreg.data import IMAGE_MEAN, IMAGE_STD
from sag_vicreg.methods import Method
from sag_vicreg.recipes import Recipe


def export_backbone(run: Run, method: Method, recipe: Recipe) -> None:
    """Write ``config.json`` in timm's own format, then ``backbone.safetensors``.

    ``timm.create_model("local-dir:RUN", pretrained=True)`` loads the folder. The weights are
    written last, so where they are the run is finished.
    """
    encoder = method.encoder
    write_json(run.config, _timm_config(encoder, recipe))
    weights = {
        name: tensor.detach().to("cpu", memory_format=torch.contiguous_format).contiguous()
        for name, tensor in encoder.state_dict().items()
    }
    metadata = {"format": "pt", "digest": recipe.digest()}
    with atomic_path(run.backbone) as temporary:
        try:
            save_file(weights, temporary, metadata=metadata)
        except SafetensorError as error:  # what it makes of a full disk
            raise OSError(str(error)) from error


def _timm_config(encoder: Any, recipe: Recipe) -> dict[str, Any]:
    size = recipe.dataset.image_size
    return {
        "architecture": recipe.backbone.name,
        "num_classes": 0,
        "num_features": encoder.num_features,
        "model_args": recipe.backbone.args,
        "pretrained_cfg": {
            "input_size": [3, size, size],
            "mean": list(IMAGE_MEAN),
            "std": list(IMAGE_STD),
            "interpolation": "bicubic",
            "crop_pct": 1.0,
            "num_classes": 0,
            "pool_size": None,
        },
        "sag_vicreg": {"recipe": recipe.name, "scale": recipe.scale, "digest": recipe.digest()},
    }
