"""A good file of every kind a user can hand over, how it is read, and what else reads its bytes.

``truth`` is NumPy, PyArrow or the standard library on the same bytes: where the door lets a damaged
file in, the values must be those. Where the file has a checksum they must be those that were
written.
"""

import csv
import io
import json
import re
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import yaml
from safetensors.numpy import load, save

from sag_vicreg.artifacts import (
    Contents,
    Embeddings,
    ScoreFile,
    open_table,
    read_backbone_config,
    read_embeddings,
    read_metrics,
    read_scores,
    read_thumbnails,
    write_embeddings,
    write_json,
    write_thumbnails,
)
from sag_vicreg.decisions import Floor
from sag_vicreg.hierarchy import load_hierarchy
from sag_vicreg.recipes import load_recipe

VECTORS = np.random.default_rng(0).normal(size=(7, 3)).astype(np.float32)
IDS = np.array([f"item {row}" for row in range(7)])
LABELS = np.array(["cat", "dog", "cat", "dog", "owl", "owl", "cat"])
TABLE = pa.table({"id": IDS.tolist(), "label": LABELS.tolist(), "vector": VECTORS.tolist()})
# Labels are not read there, so that damage to them goes unseen.
STREAMED = TABLE.drop_columns(["label"])


@dataclass(frozen=True)
class Case:
    """One kind of file.

    Attributes
    ----------
    suffix
        How its name ends.
    write
        Writes a good one.
    read
        Reads it at the door, into plain values.
    truth
        Reads its bytes by other means, into the same plain values.
    checksum
        Whether damage to a value must be noticed.
    """

    suffix: str
    write: Callable[[Path], None]
    read: Callable[[Path], Any]
    truth: Callable[[bytes], Any]
    checksum: bool = False


def plain(found: Embeddings) -> Any:
    columns = (found.ids, found.labels)
    texts = [None if column is None else [str(value) for value in column] for column in columns]
    return found.vectors.astype(np.float64).tolist(), *texts


def embeddings(path: Path) -> Any:
    return plain(read_embeddings(path))


def streamed(path: Path) -> Any:
    """The same of a table that is read piece by piece, which has no labels."""
    table = open_table(path)
    vectors = np.concatenate([x for piece in table.pieces for _, x in table.blocks(piece)])
    ids = None
    if table.id_column is not None:
        every = (ids for piece in table.pieces for ids in table.ids(piece))
        ids = [text for part in every for text in part.to_pylist()]
    return vectors.astype(np.float64).tolist(), ids


def of_arrays(arrays: Any) -> Any:
    """Vectors, ids and labels of an archive, as the page on files says they are named."""
    named = {name: arrays[name] for name in arrays}
    others = {"id", "ids", "label", "labels"}
    (vectors,) = (
        [named["vectors"]]
        if "vectors" in named
        else [each for name, each in named.items() if each.ndim == 2 and name not in others]
    )
    ids = next((named[name] for name in ("id", "ids") if name in named), None)
    labels = next((named[name] for name in ("label", "labels") if name in named), None)
    return plain(Embeddings(vectors.astype(np.float64), ids, labels))


def of_npz(data: bytes) -> Any:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        names = [name for name in archive.namelist() if name.endswith(".npy")]
    with np.load(io.BytesIO(data), allow_pickle=False) as found:
        return of_arrays({name.removesuffix(".npy"): found[name] for name in names})


def of_table(table: pa.Table) -> Any:
    """The same of a table whose list column is the vectors."""

    def texts(*names: str) -> list[str] | None:
        name = next((name for name in names if name in table.column_names), None)
        values = [] if name is None else table[name].to_pylist()
        texts = [value.decode() if isinstance(value, bytes) else str(value) for value in values]
        return None if name is None else texts

    listed = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    (name,) = (f.name for f in table.schema if any(test(f.type) for test in listed))
    rows = table[name].to_pylist()
    vectors = [[np.nan if value is None else float(value) for value in row] for row in rows]
    return vectors, texts("id", "ids"), texts("label", "labels")


def without_labels(read: Callable[[bytes], Any]) -> Callable[[bytes], Any]:
    """What else reads the bytes of a streamed table."""
    return lambda data: read(data)[:2]


def number(cell: str) -> float:
    """A cell as a number; PyArrow's words for "not known" are NaN."""
    return np.nan if cell in ("", "NA", "N/A", "null", "NULL") else float(cell)


def of_csv(data: bytes) -> Any:
    rows = list(csv.DictReader(io.StringIO(data.decode("utf-8-sig"), newline="")))
    names = [name for name in rows[0] if name not in ("id", "ids", "label", "labels")]
    vectors = [[number(row[name]) for name in names] for row in rows]

    def texts(*names: str) -> list[str] | None:
        name = next((name for name in names if name in rows[0]), None)
        return None if name is None else [row[name] for row in rows]

    return vectors, texts("id", "ids"), texts("label", "labels")


def of_ipc(data: bytes) -> Any:
    opened = pa.ipc.open_file if data.startswith(b"ARROW1") else pa.ipc.open_stream
    return of_table(opened(pa.BufferReader(data)).read_all())


def of_json_lines(data: bytes) -> Any:
    rows = [json.loads(line) for line in data.split(b"\n") if line.strip()]
    return of_table(pa.Table.from_pylist(rows, schema=None))


def write_csv(path: Path) -> None:
    lines = [
        ",".join([i, n, *map(repr, map(float, v))])
        for i, n, v in zip(IDS, LABELS, VECTORS, strict=True)
    ]
    path.write_text("\n".join(["id,label,x0,x1,x2", *lines]) + "\n")


def write_stream(path: Path, table: pa.Table = TABLE) -> None:
    with pa.ipc.new_stream(path, table.schema) as writer:
        writer.write_table(table)


def write_batches(path: Path) -> None:
    with pa.ipc.new_file(path, STREAMED.schema) as writer:
        writer.write_table(STREAMED, max_chunksize=3)


def write_groups(path: Path) -> None:
    pq.write_table(STREAMED, path, row_group_size=3, compression="none", write_page_checksum=True)


def write_parquet(path: Path) -> None:
    contents = Contents("shapes", "test", "all", 0, "a model")
    write_embeddings(path, Embeddings(VECTORS, IDS, LABELS), metadata=contents.to_metadata())


def write_hierarchy(path: Path) -> None:
    path.write_text(
        "class,path\ncat,animal/mammal/cat\ndog,animal/mammal/dog\nowl,animal/bird/owl\n"
    )


def of_hierarchy(data: bytes) -> Any:
    rows = csv.DictReader(io.StringIO(data.decode("utf-8-sig"), newline=""), skipinitialspace=True)
    paths, classes = [], []
    for each in rows:
        row = {name.strip().lower(): cell for name, cell in each.items() if name is not None}
        paths.append([part.strip() for part in row["path"].split("/")])
        classes.append(row["class"].strip())
    if any(path[-1] == name for path, name in zip(paths, classes, strict=True)):
        return paths
    return [[*path, name] for path, name in zip(paths, classes, strict=True)]


def read_paths(path: Path) -> Any:
    return [list(each) for each in load_hierarchy(path).paths]


RECIPE = load_recipe("shapes/vicreg", scale="smoke")


def read_recipe(path: Path) -> Any:
    return load_recipe(path).model_dump(mode="json")


def of_recipe(data: bytes) -> Any:
    # YAML 1.1 takes 1e308 for text; the documentation says that recipes do not.
    text = re.sub(r"(?<![\w.'\"])(\d+)e(\d+)\b", r"\1.0e+\2", data.decode())
    content = yaml.load(text, Loader=yaml.CSafeLoader)
    return type(RECIPE).model_validate(content).model_dump(mode="json")


CONFIG = {
    "architecture": "resnet18",
    "model_args": {"drop_path_rate": 0.1},
    "pretrained_cfg": {
        "input_size": [3, 32, 32],
        "mean": [0.485, 0.456, 0.406],
        "std": [0.229, 0.224, 0.225],
    },
}


def read_config(path: Path) -> Any:
    found = read_backbone_config(path)
    return [found.architecture, found.model_args, found.image_size, [*found.mean], [*found.std]]


def of_config(data: bytes) -> Any:
    found = json.loads(data)
    pixels = found["pretrained_cfg"]
    size = int(pixels["input_size"][-1])
    mean, std = ([float(value) for value in pixels[name]] for name in ("mean", "std"))
    return [found["architecture"], found.get("model_args", {}), size, mean, std]


def write_metrics(path: Path) -> None:
    lines = [f"{step},0,{30 / (step + 1):.7g},,1e-3" for step in range(8)]
    path.write_text("\n".join(["step,epoch,loss,knn,lr", *lines]) + "\n")


def read_log(path: Path) -> Any:
    return {name: column.tolist() for name, column in read_metrics(path).items()}


def of_metrics(data: bytes) -> Any:
    whole = data.decode("utf-8-sig")
    text = io.StringIO(whole[: whole.rfind("\n") + 1], newline="")
    header, *rows = list(csv.reader(text, skipinitialspace=True)) or [[]]
    rows = [row for row in rows if row]
    if rows and len(rows[-1]) < len(header):
        rows = rows[:-1]
    values = np.array([[float(cell or "nan") for cell in row] for row in rows])
    values = np.where(np.isfinite(values), values, np.nan).reshape(len(rows), len(header))
    return {name: values[:, place].tolist() for place, name in enumerate(header)}


SCORES = ScoreFile(
    kind="evaluation",
    method="VICReg",
    images={"test": "e.parquet"},
    options={"k": 20},
    n_images=96,
    scores={"knn.level1": 0.75, "rand.clusters20": 0.5},
)


def read_results(path: Path) -> Any:
    found = read_scores(path)
    return [found.method, found.n_images, dict(found.scores), dict(found.options)]


def of_results(data: bytes) -> Any:
    found = json.loads(data)
    scores = {key: float(value) for key, value in found["scores"].items()}
    return [found["method"], int(found["n_images"]), scores, found["options"]]


def write_results(path: Path) -> None:
    from dataclasses import asdict

    write_json(path, asdict(SCORES))


def write_pictures(path: Path) -> None:
    write_thumbnails(path, IDS.tolist(), [bytes([row]) * 50 for row in range(7)])


def of_pictures(data: bytes) -> Any:
    table = pq.read_table(pa.BufferReader(data))
    return dict(zip(table["id"].to_pylist(), table["image"].to_pylist(), strict=True))


def write_floor(path: Path) -> None:
    content = {
        "settings": {"geometry": "cosine", "trees": 100, "items": 2000, "seed": 0},
        "items": 70,
        "names": ["a", "b", "c"],
        "fingerprints": ["x", "y", "z"],
        "scores": [0.9, 0.95, 0.8],
    }
    write_json(path, content)


def read_floor(path: Path) -> Any:
    found = Floor.read(path)
    return [found.items, [*found.names], [*found.scores]]


def of_floor(data: bytes) -> Any:
    found = json.loads(data)
    return [int(found["items"]), found["names"], [float(score) for score in found["scores"]]]


CASES = {
    "npy": Case(
        ".npy",
        lambda path: np.save(path, VECTORS),
        embeddings,
        lambda data: plain(
            Embeddings(np.load(io.BytesIO(data), allow_pickle=False).astype(np.float64))
        ),
    ),
    "npz": Case(
        ".npz",
        lambda path: np.savez_compressed(path, vectors=VECTORS, ids=IDS, labels=LABELS),
        embeddings,
        of_npz,
    ),
    "safetensors": Case(
        ".safetensors",
        lambda path: path.write_bytes(save({"vectors": VECTORS, "labels": np.arange(7)})) and None,
        embeddings,
        lambda data: of_arrays(load(data)),
    ),
    "csv": Case(".csv", write_csv, embeddings, of_csv),
    "jsonl": Case(
        ".jsonl",
        lambda path: path.write_text("\n".join(map(json.dumps, TABLE.to_pylist()))) and None,
        embeddings,
        of_json_lines,
    ),
    "parquet": Case(
        ".parquet",
        write_parquet,
        embeddings,
        lambda data: of_table(pq.read_table(pa.BufferReader(data))),
        checksum=True,
    ),
    "feather": Case(
        ".feather", lambda path: feather.write_feather(TABLE, path), embeddings, of_ipc
    ),
    "arrow stream": Case(".arrow", write_stream, embeddings, of_ipc),
    "streamed npy": Case(
        ".npy",
        lambda path: np.save(path, VECTORS),
        streamed,
        lambda data: (np.load(io.BytesIO(data), allow_pickle=False).astype(np.float64), None),
    ),
    "streamed parquet": Case(
        ".parquet",
        write_groups,
        streamed,
        without_labels(lambda data: of_table(pq.read_table(pa.BufferReader(data)))),
    ),
    "streamed arrow": Case(".arrow", write_batches, streamed, without_labels(of_ipc)),
    "streamed arrow stream": Case(
        ".arrow", lambda path: write_stream(path, STREAMED), streamed, without_labels(of_ipc)
    ),
    "hierarchy": Case(".csv", write_hierarchy, read_paths, of_hierarchy),
    "recipe": Case(
        ".yaml",
        lambda path: path.write_text(RECIPE.to_yaml()) and None,
        read_recipe,
        of_recipe,
    ),
    "config.json": Case(".json", lambda path: write_json(path, CONFIG), read_config, of_config),
    "metrics.csv": Case(".csv", write_metrics, read_log, of_metrics),
    "results.json": Case(".json", write_results, read_results, of_results),
    "thumbnails": Case(".parquet", write_pictures, read_thumbnails, of_pictures),
    "floor": Case(".json", write_floor, read_floor, of_floor),
}
