"""Artifacts as training, embedding and evaluation leave them, made from a seed in a second."""

import io
from dataclasses import asdict
from pathlib import Path

import numpy as np
from PIL import Image

from sag_vicreg.artifacts import (
    Contents,
    Embeddings,
    Run,
    ScoreFile,
    write_embeddings,
    write_json,
    write_text,
    write_thumbnails,
)
from sag_vicreg.hierarchy import load_hierarchy
from sag_vicreg.recipes import load_recipe
from sag_vicreg.scores import by_level

TREE = load_hierarchy("shapes")


def class_vectors(seed: int, dimension: int = 16) -> np.ndarray:
    """One vector a class, near those of its relatives: a sum of one vector a level."""
    generator = np.random.default_rng(seed)
    total = np.zeros((len(TREE.classes), dimension))
    for level in range(1, TREE.n_levels + 1):
        groups = generator.normal(size=(len(TREE.names_at(level)), dimension))
        total += groups[TREE.labels_at(level)] / level
    return total


def embedded_images(
    noise: float, seed: int, per_class: int, classes: int | None = None
) -> Embeddings:
    labels = np.repeat(np.arange(classes or len(TREE.classes)), per_class)
    generator = np.random.default_rng(seed)
    vectors = class_vectors(0)[labels] + noise * generator.normal(size=(len(labels), 16))
    ids = np.array([f"test/{row:05d}" for row in range(len(labels))])
    return Embeddings(vectors.astype(np.float32), ids, np.array(TREE.classes)[labels])


def webp(pixels: np.ndarray) -> bytes:
    """A thumbnail of 32 x 32 from a few large pixels, (h, w, 3)."""
    buffer = io.BytesIO()
    image = Image.fromarray(pixels).resize((32, 32), Image.Resampling.BICUBIC)
    image.save(buffer, "WEBP", method=0)
    return buffer.getvalue()


def write_run(
    folder: Path,
    method: str,
    classes: str,
    *,
    noise: float = 0.4,
    per_class: int = 6,
    steps: int = 40,
    images: bool = True,
) -> Path:
    """A finished run of the ``shapes`` recipe with made-up numbers in it."""
    seed = sum(map(ord, method + classes))
    run = Run(folder)
    recipe = load_recipe(
        f"shapes/{method}", scale="smoke", overrides=[f"dataset.classes={classes}"]
    )
    write_text(run.recipe, recipe.to_yaml())
    generator = np.random.default_rng(seed)
    lines = ["step,epoch,loss,invariance,variance,covariance,nontrivial,lr"]
    for step in range(steps):
        loss = 30 * np.exp(-step / steps) + generator.normal() / 5
        lines.append(
            f"{step},{step // 10},{loss},{loss / 60},{loss / 40},{loss / 9},{step / steps / 2},0.1"
        )
    write_text(run.metrics, "\n".join(lines) + "\n")
    embeddings = embedded_images(noise, seed, per_class)
    contents = Contents("shapes", "test", "all", 0, recipe.digest())
    write_embeddings(
        run.embeddings / "shapes-test.parquet", embeddings, metadata=contents.to_metadata()
    )
    if images:
        assert embeddings.ids is not None
        pixels = generator.integers(0, 255, size=(len(embeddings), 2, 2, 3), dtype=np.uint8)
        write_thumbnails(
            run.embeddings / "thumbnails.parquet",
            embeddings.ids.tolist(),
            [webp(image) for image in pixels],
        )
    accuracy = np.sort(generator.uniform(0.3, 0.95, size=TREE.n_levels))[::-1]
    result = ScoreFile(
        kind="evaluation",
        method=method,
        images={},
        options={},
        n_images=len(embeddings),
        scores=by_level("knn", accuracy),
    )
    write_json(run.results, asdict(result))
    return folder
