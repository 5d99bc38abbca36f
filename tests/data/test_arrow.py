"""Folders as the library ``datasets`` saves them: streams of record batches, features beside."""

import io
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image

from sag_vicreg.data import load_dataset
from sag_vicreg.errors import InputError


def png(value: int) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (12, 12), (value, 0, 0)).save(buffer, "PNG")
    return buffer.getvalue()


def save_to_disk(folder: Path, values: list[int], parts: int = 2) -> None:
    """Write the layout of ``Dataset.save_to_disk``."""
    features = {"label": {"names": ["even", "odd"], "_type": "ClassLabel"}}
    metadata = {"huggingface": json.dumps({"info": {"features": features}})}
    image = pa.struct({"bytes": pa.binary(), "path": pa.string()})
    schema = pa.schema({"image": image, "label": pa.int64()}, metadata=metadata)
    folder.mkdir(parents=True)
    names = [f"data-{part:05d}-of-{parts:05d}.arrow" for part in range(parts)]
    for name, some in zip(names, np.array_split(values, parts), strict=True):
        rows = [{"image": {"bytes": png(v), "path": None}, "label": v % 2} for v in some.tolist()]
        with pa.OSFile(str(folder / name), "wb") as sink, pa.ipc.new_stream(sink, schema) as stream:
            for row in rows:  # a batch each
                stream.write_table(pa.Table.from_pylist([row], schema=schema))
    state = {"_data_files": [{"filename": name} for name in names]}
    (folder / "state.json").write_text(json.dumps(state))


def test_a_dictionary_of_splits(tmp_path: Path) -> None:
    save_to_disk(tmp_path / "d" / "train", [10, 21, 30, 41])
    save_to_disk(tmp_path / "d" / "test", [51, 61], parts=1)
    data = load_dataset(f"arrow:{tmp_path / 'd'}", split="train")
    assert data.images[:, 0, 0, 0].tolist() == [10, 21, 30, 41]
    assert data.label_names() == ["even", "odd", "even", "odd"]
    test = load_dataset(f"arrow:{tmp_path / 'd'}", split="test")
    assert test.label_names() == ["odd", "odd"]
    assert test.class_names == data.class_names


def test_one_dataset_is_split_by_seed(tmp_path: Path) -> None:
    save_to_disk(tmp_path / "d", list(range(20)))
    train, test = (load_dataset(f"arrow:{tmp_path / 'd'}", split=s) for s in ("train", "test"))
    found = [*train.images[:, 0, 0, 0].tolist(), *test.images[:, 0, 0, 0].tolist()]
    assert sorted(found) == list(range(20))
    assert len(test) == 4


def test_caches_of_the_library_are_no_images(tmp_path: Path) -> None:
    save_to_disk(tmp_path / "d", list(range(20)), parts=1)
    (shard,) = (tmp_path / "d").glob("data-*.arrow")
    (tmp_path / "d" / "cache-1c80.arrow").write_bytes(shard.read_bytes())
    train, test = (load_dataset(f"arrow:{tmp_path / 'd'}", split=s) for s in ("train", "test"))
    assert len(train) + len(test) == 20


def test_a_row_without_an_image_is_named(tmp_path: Path) -> None:
    """Under a struct that is null, Arrow keeps bytes all the same: none."""
    (tmp_path / "d").mkdir()
    images = [{"bytes": png(1), "path": "1.png"}, None]
    table = pa.table({"image": images, "label": ["a", "b"]})
    with (
        pa.OSFile(str(tmp_path / "d" / "data.arrow"), "wb") as sink,
        pa.ipc.new_stream(sink, table.schema) as stream,
    ):
        stream.write_table(table)
    with pytest.raises(InputError, match="row 1 has no image"):
        load_dataset(f"arrow:{tmp_path / 'd'}", split="all")


def test_damaged_and_missing_files_are_one_line(tmp_path: Path) -> None:
    save_to_disk(tmp_path / "d", list(range(6)), parts=1)
    (file,) = (tmp_path / "d").glob("*.arrow")
    whole = file.read_bytes()
    for length in (0, 10, len(whole) // 2):
        file.write_bytes(whole[:length])
        with pytest.raises(InputError, match=r"not a readable Arrow file|no rows") as caught:
            load_dataset(f"arrow:{tmp_path / 'd'}", split="all")
        assert "\n" not in str(caught.value)
    file.unlink()
    with pytest.raises(InputError, match=r"arrow is missing: save the dataset again"):
        load_dataset(f"arrow:{tmp_path / 'd'}", split="all")
    (tmp_path / "d" / "state.json").unlink()
    with pytest.raises(InputError, match=r"holds no \.arrow files"):
        load_dataset(f"arrow:{tmp_path / 'd'}", split="all")
