"""A trained backbone in the layout of the Hugging Face hub, ready to be uploaded."""

from pathlib import Path

import timm

from sag_vicreg.artifacts import BackboneConfig, Run, atomic_path, write_text
from sag_vicreg.errors import InputError
from sag_vicreg.recipes import METHOD_LABELS, Recipe, load_recipe
from sag_vicreg.training.encoder import finished_config

_CARD = """---
library_name: timm
pipeline_tag: image-feature-extraction
tags:
- timm
- image-feature-extraction
- self-supervised-learning
- sag-vicreg
---

# {title}

A {architecture} trained without labels by {method} on {dataset}, with `sag-vicreg`. Its output is
the representation before the expander.

| | |
|---|---|
| recipe | `{recipe}`, scale `{scale}`, seed {seed} |
| images | {size} x {size} pixels, normalised with mean {mean} and deviation {std} |
| batch, optimiser | {batch}, {optimizer} |
| SHA-256 of `model.safetensors` | `{sha256}` |

```python
import timm

model = timm.create_model("hf-hub:USER/NAME", pretrained=True).eval()
```

What the images were, whom they show and what the model must not be used for, its author has to add.
"""


def export_to_hub(run: Run, out: Path) -> None:
    """Write ``README.md``, ``config.json`` and ``model.safetensors`` of a finished run to ``out``.

    ``huggingface_hub.upload_folder`` takes the folder as it is, and so does timm:
    ``timm.create_model("local-dir:OUT", pretrained=True)``.
    """
    config = finished_config(run)
    if not timm.is_model(config.architecture):
        raise InputError(
            f"{run.folder} holds a network of your own ({config.architecture}), which timm does "
            "not build: the hub's layout is for timm models"
        )
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise InputError(f"{out} is not an empty folder: choose another")
    for source, name in ((run.config, "config.json"), (run.backbone, "model.safetensors")):
        with atomic_path(out / name) as temporary:
            temporary.write_bytes(source.read_bytes())
    write_text(out / "README.md", _card(config, load_recipe(run.recipe)))


def _card(config: BackboneConfig, recipe: Recipe) -> str:
    method = METHOD_LABELS.get(recipe.name.rpartition("/")[2], recipe.method.title())
    # A path of the author's own says nothing to others.
    dataset = "images of its author's own" if (":" in recipe.dataset.name) else recipe.dataset.name
    return _CARD.format(
        title=f"{config.architecture} by {method} on {dataset}",
        architecture=config.architecture,
        method=method,
        dataset=dataset,
        recipe=recipe.name,
        scale=recipe.scale,
        seed=recipe.seed,
        size=config.image_size,
        mean=list(config.mean),
        std=list(config.std),
        batch=recipe.batch_size,
        optimizer=recipe.optimizer.name,
        sha256=config.sha256,
    )
