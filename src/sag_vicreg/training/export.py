"""The trained backbone as files that plain timm loads."""

import hashlib

import torch
from safetensors.torch import save

from sag_vicreg.artifacts import Run, atomic_path, write_json
from sag_vicreg.methods import Method, output_width
from sag_vicreg.published import IMAGE_MEAN, IMAGE_STD
from sag_vicreg.recipes import Recipe


def export_backbone(
    run: Run, method: Method, recipe: Recipe, *, architecture: str | None = None
) -> None:
    """Write ``config.json`` in timm's own format, then ``backbone.safetensors``.

    ``timm.create_model("local-dir:RUN", pretrained=True)`` loads the folder. The weights are
    written last, so where they are the run is finished. The same weights are the same bytes, and
    ``config.json`` has their SHA-256. A network of the user's own, which timm does not build, is
    called by its ``architecture``.
    """
    encoder = method.encoder
    weights = {
        name: tensor.detach().to("cpu", memory_format=torch.contiguous_format).contiguous()
        for name, tensor in encoder.state_dict().items()
    }
    # No second entry beside the format: safetensors writes several in no fixed order.
    content = save(weights, metadata={"format": "pt"})
    size = recipe.dataset.image_size
    config = {
        "architecture": architecture or recipe.backbone.name,
        "num_classes": 0,
        "num_features": getattr(encoder, "num_features", None) or output_width(encoder, size),
        "model_args": {} if architecture else recipe.backbone.args,
        "pretrained_cfg": {
            "input_size": [3, size, size],
            "mean": list(IMAGE_MEAN),
            "std": list(IMAGE_STD),
            "interpolation": "bicubic",
            "crop_pct": 1.0,
            "num_classes": 0,
            "pool_size": None,
        },
        "sag_vicreg": {
            "recipe": recipe.name,
            "scale": recipe.scale,
            "digest": recipe.digest(),
            "sha256": hashlib.sha256(content).hexdigest(),
        },
    }
    write_json(run.config, config)
    with atomic_path(run.backbone) as temporary:
        temporary.write_bytes(content)
