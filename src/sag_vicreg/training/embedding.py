"""Embeddings of a dataset: from a run folder or any timm model to vectors with ids and labels."""

import io
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import nn

from sag_vicreg.artifacts import (
    THUMBNAILS,
    Contents,
    Embeddings,
    Run,
    check_embeddings_path,
    read_pictures,
    write_embeddings,
    write_thumbnails,
)
from sag_vicreg.data import ImageDataset, load_dataset
from sag_vicreg.data.splits import Classes
from sag_vicreg.errors import InputError
from sag_vicreg.methods import Method, naming_full_memory, output_width
from sag_vicreg.progress import track
from sag_vicreg.published import PUBLISHED_SIZE
from sag_vicreg.recipes import Recipe
from sag_vicreg.training.claim import claim
from sag_vicreg.training.encoder import Encoder, encoder_of_run, encoder_of_timm
from sag_vicreg.training.inputs import stored_size

_THUMBNAIL_SIZE = 64


def embed(
    source: Path | str | nn.Module,
    *,
    dataset: str | ImageDataset,
    root: Path | str | None = None,
    split: str = "test",
    classes: Classes = "all",
    max_images: int | None = None,
    seed: int | None = None,
    batch_size: int = 256,
    device: str = "auto",
    pretrained: bool = False,
    weights: Path | None = None,
    image_size: int | None = None,
    out: Path | None = None,
) -> Embeddings:
    """Embed a dataset with a trained backbone: the representation before the expander.

    Parameters
    ----------
    source
        A run folder, the name of a timm model, or a network of your own: a
        :class:`~sag_vicreg.methods.Method`, or any module from images to vectors.
    dataset, root, split, classes, max_images
        As in :func:`~sag_vicreg.data.load_dataset`; or images of your own, which are embedded as
        they are (:meth:`~sag_vicreg.data.ImageDataset.of`).
    seed
        Draws the split and the subset. By default that of the run's own dataset (0 for a timm
        model): by another, images it was trained on could count as held out.
    batch_size
        Images at a time; in evaluation mode no image sees another.
    device
        ``cpu``, ``cuda`` ...; ``auto`` takes an accelerator where there is one.
    pretrained, weights, image_size
        For a timm model: timm's own weights, or those of a file; and the size of its images. The
        size is for a network of your own as well, whose images are else as large as the dataset's.
    out
        Write the embeddings here as parquet, and the images' ``thumbnails.parquet`` beside them.
    """
    if batch_size < 1:
        raise InputError(f"batch_size is {batch_size}: at least 1 image at a time")
    if out is not None:
        check_embeddings_path(out)
    # Thumbnails of the folder are read, added to and written: by one process at a time.
    with nullcontext() if out is None else claim(out.parent, "embeds into"):
        own_size = dataset.image_size if isinstance(dataset, ImageDataset) else PUBLISHED_SIZE
        encoder = _find_encoder(source, pretrained, weights, image_size, own_size)
        encoder.backbone.to(_find_device(device))
        drawn_by = split_seed(source) if seed is None else seed
        images = (
            dataset
            if isinstance(dataset, ImageDataset)
            else load_dataset(
                dataset,
                root=root,
                split=split,
                classes=classes,
                image_size=stored_size(dataset, encoder.image_size),
                max_images=max_images,
                seed=drawn_by,
            )
        )
        with naming_full_memory():
            vectors = encoder.embed(
                images, batch_size=batch_size, description=f"embedding {images.name}"
            )
        embeddings = Embeddings(vectors, np.array(images.ids), np.array(images.label_names()))
        if out is not None:
            contents = Contents(
                dataset=images.name,
                split=split,
                classes=classes if isinstance(classes, str) else ",".join(map(str, classes)),
                seed=drawn_by,
                model=_model_name(source, pretrained, weights),
                max_images=max_images,
            )
            # Of a dataset made elsewhere nobody knows the split or the classes.
            known = contents.to_metadata() if images is not dataset else {}
            write_embeddings(out, embeddings, metadata=known)
            add_thumbnails(out.parent / THUMBNAILS, images)
    return embeddings


def split_seed(source: Path | str | nn.Module) -> int:
    """Return the seed that drew the split a run was trained on; 0 for what is not a run."""
    recipe = _recipe_of(source)
    return 0 if recipe is None else recipe.dataset.seed


def _recipe_of(source: Path | str | nn.Module) -> Recipe | None:
    run = None if isinstance(source, nn.Module) else Run(Path(source))
    return run.read_recipe() if run is not None and run.recipe.is_file() else None


def _model_name(source: Path | str | nn.Module, pretrained: bool, weights: Path | None) -> str:
    if isinstance(source, nn.Module):
        return type(source).__name__
    if recipe := _recipe_of(source):
        return recipe.digest()
    origin = "pretrained" if pretrained else "untrained" if weights is None else weights.name
    return f"{source} ({origin})"


def _find_encoder(
    source: Path | str | nn.Module,
    pretrained: bool,
    weights: Path | None,
    image_size: int | None,
    own_size: int,
) -> Encoder:
    if isinstance(source, nn.Module):
        if pretrained or weights is not None:
            raise InputError("a network of your own has its weights: leave pretrained and weights")
        backbone = source.encoder if isinstance(source, Method) else source
        size = own_size if image_size is None else image_size
        output_width(backbone, size)
        return Encoder(backbone, image_size=size)
    if not Path(source).is_dir():
        return encoder_of_timm(
            str(source), pretrained=pretrained, weights=weights, image_size=image_size
        )
    if pretrained or weights is not None or image_size is not None:
        raise InputError(
            f"{source} is a run folder, which brings its own weights and image size: "
            "leave pretrained, weights and image_size out"
        )
    return encoder_of_run(Run(Path(source)))


def _find_device(name: str) -> torch.device:
    if name == "auto":
        return torch.accelerator.current_accelerator(check_available=True) or torch.device("cpu")
    try:
        device = torch.device(name)
        torch.zeros(1, device=device).cpu()
    except (RuntimeError, AssertionError) as error:
        raise InputError(f"there is no device '{name}' here: use cpu or auto") from error
    return device


def add_thumbnails(path: Path, images: ImageDataset) -> None:
    """Write small WebP copies of the images, beside those of others the file already holds.

    All of them anew: an id such as ``cat/1.png`` may have stood for another picture before.
    """
    known = read_pictures(path) if path.exists() else {}
    for index, name in enumerate(track(images.ids, "thumbnails")):
        known[images.name, name] = _webp(images.batch([index])[0])
    datasets, ids = zip(*known, strict=True)
    write_thumbnails(path, ids, list(known.values()), datasets=datasets)


def _webp(image: torch.Tensor) -> bytes:
    picture = Image.fromarray(image.permute(1, 2, 0).numpy())
    picture.thumbnail((_THUMBNAIL_SIZE, _THUMBNAIL_SIZE))
    buffer = io.BytesIO()
    picture.save(buffer, "WEBP", quality=80, method=0)
    return buffer.getvalue()
