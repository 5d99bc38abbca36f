"""``sag-vicreg embed``: images to vectors."""

from pathlib import Path
from typing import Annotated

import typer

from sag_vicreg.errors import require_train_extra


def embed(
    source: Annotated[str, typer.Argument(help="A run folder, or the name of a timm model.")],
    dataset: Annotated[
        str, typer.Option(help="Dataset to embed; `sag-vicreg datasets` lists them.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            help="File to write. Default: `RUN/embeddings/DATASET-SPLIT-CLASSES.parquet`, with "
            "--max-images and the seed in its name where they are given."
        ),
    ] = None,
    split: Annotated[str, typer.Option(help="`train` or `test`.")] = "test",
    classes: Annotated[
        str,
        typer.Option(help="`all`, `first` or `second` half, or class names separated by commas."),
    ] = "all",
    data: Annotated[
        Path | None,
        typer.Option(help="The dataset's folder. Default: its place under $SAG_VICREG_DATA."),
    ] = None,
    max_images: Annotated[
        int | None,
        typer.Option(min=1, help="Embed at most this many images, equally many from every class."),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Seed of that choice, of splits and drawn images. Default: the run's own, or 0.",
        ),
    ] = None,
    batch_size: Annotated[int, typer.Option(min=1, help="Images at a time.")] = 256,
    device: Annotated[str, typer.Option(help="Device: `auto`, `cpu`, `cuda` ...")] = "auto",
    pretrained: Annotated[
        bool, typer.Option("--pretrained", help="For a timm model: its published weights.")
    ] = False,
    weights: Annotated[
        Path | None, typer.Option(help="For a timm model: weights from this file.")
    ] = None,
    image_size: Annotated[
        int | None, typer.Option(min=1, help="For a timm model: an input size other than its own.")
    ] = None,
) -> None:
    """Embed a dataset: the representation before the expander, with ids and labels.

    `sag-vicreg embed runs/sag --dataset cifar100 --classes second --out e.parquet`

    `sag-vicreg embed resnet50 --pretrained --dataset cifar100 --out e.parquet`
    """
    require_train_extra("embed")
    from sag_vicreg.artifacts import Run
    from sag_vicreg.errors import InputError
    from sag_vicreg.training import embed as run_embedding
    from sag_vicreg.training.embedding import split_seed

    seed = split_seed(source) if seed is None else seed
    if out is None:
        if not Path(source).is_dir():
            raise InputError(
                f"{source} is not a run folder; to embed by a timm model, give --out FILE.parquet"
            )
        out = Run(Path(source)).embedding_file(
            dataset, split, classes, max_images=max_images, seed=seed
        )
    embeddings = run_embedding(
        source,
        dataset=dataset,
        root=data,
        split=split,
        classes=classes if classes in ("all", "first", "second") else classes.split(","),
        max_images=max_images,
        seed=seed,
        batch_size=batch_size,
        device=device,
        pretrained=pretrained,
        weights=weights,
        image_size=image_size,
        out=out,
    )
    n, d = embeddings.vectors.shape
    typer.echo(f"embedded {n:,} images in {d} dimensions: {out}")
