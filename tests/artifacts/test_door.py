"""Files made to hurt, each refused in one line; and the formats that people have."""

import json
import os
import resource
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
import yaml
from typer.testing import CliRunner

from sag_vicreg import door, machine
from sag_vicreg.artifacts import (
    Embeddings,
    read_backbone_config,
    read_embeddings,
    read_metrics,
    read_scores,
    write_embeddings,
)
from sag_vicreg.cli import app
from sag_vicreg.errors import InputError, visible
from sag_vicreg.hierarchy import load_hierarchy
from sag_vicreg.recipes import load_recipe

VECTORS = np.random.default_rng(0).normal(size=(60, 4))
IDS = [f"i{row}" for row in range(60)]


def refused(read: Any, path: Path) -> str:
    with pytest.raises(InputError) as caught:
        read(path)
    message = str(caught.value)
    assert str(path) in message
    assert message.isprintable()
    return message


@pytest.mark.parametrize(
    "shape",
    ["(-1, 3)", f"({10**18}, 3)", f"({10**30}, 3)", f"(1, {10**18}, {10**18})", "(7,) * 99"],
)
def test_an_npy_of_absurd_dimensions(tmp_path: Path, shape: str) -> None:
    path = tmp_path / "e.npy"
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode())
    refused(read_embeddings, path)


def test_an_npz_of_which_only_the_arrays_asked_for_are_inflated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "e.npz"
    np.savez_compressed(path, vectors=VECTORS, ids=IDS, other=np.zeros((1000, 5000)))
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("notes.txt", "not an array")
    monkeypatch.setattr(door, "available_bytes", lambda: 10_000)
    np.testing.assert_array_equal(read_embeddings(path).vectors, VECTORS)
    with pytest.raises(InputError, match=r"it holds 0\.0 GB and 0\.0 GB of memory are free"):
        read_embeddings(path, vector_columns="other")
    np.savez(path, vectors=VECTORS, labels=np.zeros(60, dtype="V8"))
    assert "labels have dtype |V8" in refused(read_embeddings, path)


def test_tables_with_notes_or_texts_that_are_not_what_they_should_be(tmp_path: Path) -> None:
    path = tmp_path / "e.parquet"
    table = pa.table({"id": IDS, "vector": VECTORS.tolist()})
    for notes in (b"{", b"[" * 2000, b"\xff", b'{"index_columns": 3'):
        pq.write_table(table.replace_schema_metadata({b"pandas": notes}), path)
        refused(read_embeddings, path)
    # Thousands of rows of one long text take little room in the file.
    long = pa.table({"id": ["x" * 100_000] * 60, "vector": VECTORS.tolist()})
    pq.write_table(long, path)
    assert "a text of 100,000 characters" in refused(read_embeddings, path)
    pq.write_table(pa.table({"id": [f"{row}\0" for row in IDS], "vector": VECTORS.tolist()}), path)
    assert "a NUL character" in refused(read_embeddings, path)


def test_a_cell_of_more_than_128_kib(tmp_path: Path) -> None:
    path = tmp_path / "tree.csv"
    path.write_text(f"class,path\ncat,a/{'c' * 200_000}\n")
    assert "field larger than field limit" in refused(load_hierarchy, path)
    path.write_text(f"id,{'x' * 200_000},b\na,1,2\n")
    refused(read_embeddings, path)
    # A row of many numbers is longer than what Arrow reads at a time, and none of its cells is.
    wide = np.random.default_rng(0).normal(size=(3, 400))
    np.savetxt(path, wide, delimiter=",", fmt="%.4000f")
    np.testing.assert_allclose(read_embeddings(path).vectors, wide)


ALIASES = "a0: &a0 [x, x]\n" + "".join(
    f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 9)}]\n" for level in range(1, 30)
)
MERGES = "a0: &a0 {x: 1}\n" + "".join(
    f"a{level}: &a{level} {{<<: [{', '.join([f'*a{level - 1}'] * 9)}]}}\n" for level in range(1, 30)
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: &a [*a]\n", "nested more than 64 levels"),
        ("a: &a {b: *a}\n", "nested more than 64 levels"),
        (ALIASES, "more than 100,000 values, aliases followed"),
        (MERGES, "more than 100,000 values, aliases followed"),
        ("a: " + "[" * 100_000, "nested more than 64 levels"),
        ("- " * 100_000, "nested too deeply"),
        ("1: 2\n", "the key 1 is not text"),
        ("seed: 2001-01-01\n", "it holds a date"),
        (f"seed: {'9' * 400}\n", "more than 64 bits"),
        ("seed: " + "9" * 300_000, "more than the 262,144"),
        ("a: !!python/object/apply:os.system [true]\n", "could not determine a constructor"),
    ],
)
def test_yaml_that_would_hang_or_run(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "recipe.yaml"
    path.write_text(text)
    assert message in refused(load_recipe, path)


def test_the_values_a_yaml_file_stands_for_are_counted_and_not_built(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from sag_vicreg.recipes import yaml_text

    monkeypatch.setattr(
        yaml.SafeLoader, "construct_document", lambda *_: pytest.fail("it was built")
    )
    for text in (ALIASES, MERGES):
        with pytest.raises(InputError, match="aliases followed"):
            yaml_text.parse_yaml(text)


@pytest.mark.parametrize(
    "text",
    [
        "[" * 1000 + "]" * 1000,
        '{"a":' * 1000 + "1" + "}" * 1000,
        '{"scores": {"knn.level1": 1e999}}',
        '{"scores": {"knn.level1": NaN}}',
        '{"scores": {"knn.level1": ' + "9" * 5000 + "}}",
        '{"method": "\\ud800"}',
        "[" + "1," * 1_000_001 + "1]",
        '"' + '\\"' * 100_000,
    ],
)
def test_json_that_is_deep_large_or_beyond_floats(tmp_path: Path, text: str) -> None:
    path = tmp_path / "results.json"
    path.write_text(text)
    refused(read_scores, path)


def test_numbers_beyond_floats_in_a_log_are_gaps(tmp_path: Path) -> None:
    path = tmp_path / "metrics.csv"
    path.write_text("step,epoch,loss\n1,0,1e999\n2,0,-inf\n3,0,2.5\n4,0\n")
    assert np.isnan(read_metrics(path)["loss"][:2]).all()
    assert read_metrics(path)["step"].tolist() == [1, 2, 3], "the last line was cut"
    for cut in ("4,0,2", "4,0,2.5e-"):  # of 2.5e-07
        path.write_text(f"step,epoch,loss\n3,0,2.5\n{cut}")
        assert read_metrics(path)["step"].tolist() == [3]
    path.write_text("step,epoch,loss\n1,0,high\n")
    assert "row 1, column 'loss': 'high' is not a number" in refused(read_metrics, path)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("mean", [0.5, 0.5]),
        ("mean", [0.5, 0.5, "x"]),
        ("std", [0.2, 0.2, 0.0]),
        ("std", [0.2, 0.2, 0.2, 0.2]),
        ("std", [0.2, 0.2, -1]),
        ("input_size", [1, 32, 32]),
        ("input_size", [3, 32, 10**9]),
    ],
)
def test_a_description_of_pixels_that_no_image_has(tmp_path: Path, key: str, value: Any) -> None:
    pixels = {"input_size": [3, 32, 32], "mean": [0.5] * 3, "std": [0.2] * 3} | {key: value}
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"architecture": "resnet18", "pretrained_cfg": pixels}))
    assert f"pretrained_cfg.{key}" in refused(read_backbone_config, path)


@pytest.mark.parametrize("origin", ["text", None, [1], {"sha256": 3}])
def test_a_checksum_that_cannot_be_read_is_not_passed_over(origin: object, tmp_path: Path) -> None:
    pixels = {"input_size": [3, 8, 8], "mean": [0, 0, 0], "std": [1, 1, 1]}
    config = {"architecture": "resnet18", "pretrained_cfg": pixels}
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config))
    assert read_backbone_config(path).sha256 is None
    path.write_text(json.dumps(config | {"sag_vicreg": {"sha256": "ab"}}))
    assert read_backbone_config(path).sha256 == "ab"
    path.write_text(json.dumps(config | {"sag_vicreg": origin}))
    assert "(sag_vicreg" in refused(read_backbone_config, path)


def test_what_is_no_regular_file_is_not_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "e.npy"
    os.mkfifo(path)
    assert "not a regular file" in refused(read_embeddings, path)
    loop = tmp_path / "loop.npy"
    loop.symlink_to(loop)
    assert "symbolic links" in refused(read_embeddings, loop)


def test_names_that_are_not_utf8_and_ids_that_a_terminal_would_obey(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ids = np.array([f"\x1b[31m{row}\x07" for row in range(60)])
    path = Path(os.fsdecode(b"caf\xe9.parquet"))
    write_embeddings(path, Embeddings(VECTORS, ids))
    assert read_embeddings(path).ids is not None
    write_embeddings("b.parquet", Embeddings(VECTORS[1:], ids[1:]))
    done = CliRunner().invoke(app, ["compare", str(path), "b.parquet", "--trees", "0"])
    assert done.exit_code == 2
    assert r"id '\x1b[31m0\x07' is missing from b.parquet" in done.stderr
    assert "\x1b" not in done.output
    inner = ["--join", "inner", "--trees", "0"]
    done = CliRunner().invoke(app, ["compare", str(path), "b.parquet", *inner])
    assert done.exit_code == 0, done.output
    assert r"left out rows whose id not every set has: 1 of caf\udce9.parquet" in done.stderr
    assert visible("a\u202eb") == r"a\u202eb"


def test_the_memory_that_ulimit_leaves_is_all_there_is() -> None:
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30));"
        "from sag_vicreg.machine import available_bytes; print(available_bytes())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 0 < int(done.stdout) < 3 << 30
    assert resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY or (
        machine.available_bytes() is not None
    )


def table() -> pa.Table:
    return pa.table({"ids": IDS, "labels": [k % 3 for k in range(60)], "vec": VECTORS.tolist()})


class Frame:
    """As much of a data frame as any of them has: it hands itself over through Arrow."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return table().__arrow_c_stream__(requested_schema)


def write_dataset(folder: Path) -> Path:
    """A folder as ``save_to_disk`` leaves it, in two shards."""
    folder.mkdir(parents=True)
    features = {"info": {"features": {"labels": {"names": ["cat", "dog", "owl"]}}}}
    noted = table().replace_schema_metadata({"huggingface": json.dumps(features)})
    names = [f"data-{part:05d}-of-00002.arrow" for part in range(2)]
    for name, part in zip(names, (noted.slice(0, 25), noted.slice(25)), strict=True):
        with pa.ipc.new_stream(folder / name, part.schema) as writer:
            writer.write_table(part)
    state = {"_data_files": [{"filename": name} for name in names], "_split": "train"}
    (folder / "state.json").write_text(json.dumps(state))
    (folder / "dataset_info.json").write_text("{}")
    return folder


def test_formats_that_people_have(tmp_path: Path) -> None:
    sources: list[Any] = [tmp_path / f"e{end}" for end in (".feather", ".arrow", ".jsonl")]
    feather.write_feather(table(), sources[0], compression="zstd")
    with pa.ipc.new_file(sources[1], table().schema) as writer:
        writer.write_table(table())
    sources[2].write_text("\n".join(map(json.dumps, table().to_pylist())))
    for source in (*sources, table(), Frame(), write_dataset(tmp_path / "saved")):
        found = read_embeddings(source)
        np.testing.assert_array_equal(found.vectors, VECTORS)
        assert found.ids is not None
        assert found.ids.tolist() == IDS
        assert found.labels is not None
        names = ["cat", "dog", "owl"] if source == tmp_path / "saved" else [0, 1, 2]
        assert found.labels.tolist() == [names[k % 3] for k in range(60)]


def test_frames_of_pandas_and_polars() -> None:
    for maker in ("pandas", "polars"):
        library = pytest.importorskip(maker)
        columns = {"id": IDS} | {f"dim_{k}": VECTORS[:, k] for k in range(4)}
        found = read_embeddings(library.DataFrame(columns))
        np.testing.assert_array_equal(found.vectors, VECTORS)


def test_saved_datasets_that_lead_elsewhere(tmp_path: Path) -> None:
    folder = write_dataset(tmp_path / "splits" / "train")
    (tmp_path / "splits" / "dataset_dict.json").write_text('{"splits": ["train", "test"]}')
    assert f"name one, as {folder}" in refused(read_embeddings, tmp_path / "splits")
    (folder / "state.json").write_text('{"_data_files": [{"filename": "../../secret.arrow"}]}')
    assert "which is not in the folder" in refused(read_embeddings, folder)


def test_of_several_lists_one_is_asked_for_in_the_singular(tmp_path: Path) -> None:
    files = [str(tmp_path / name) for name in ("a.feather", "b.feather")]
    for file in files:
        feather.write_feather(table().append_column("other", table()["vec"]), file)
    done = CliRunner().invoke(app, ["compare", *files, "--trees", "0"])
    assert "the vectors may be vec or other: choose by --vector-column vec" in done.stderr
    for option in ("--vector-column", "--vector-columns"):
        done = CliRunner().invoke(app, ["compare", *files, "--trees", "0", option, "vec"])
        assert done.exit_code == 0, done.stderr
