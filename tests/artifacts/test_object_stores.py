"""Tables on an object store, read through pyarrow's S3 client from a local server."""

import socket
from datetime import timedelta
from pathlib import Path
from threading import Thread

import numpy as np
import pyarrow.fs
import pytest

from s3_server import serve
from sag_vicreg.artifacts import open_table, table_files
from sag_vicreg.errors import InputError
from tables import names_of, two_sets, write_folder

if not hasattr(pyarrow.fs, "S3FileSystem"):
    pytest.skip("this pyarrow has no S3 client", allow_module_level=True)


@pytest.fixture(autouse=True)
def _credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "nobody")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "nothing")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


def address(host: str, path: str) -> str:
    return f"s3://bucket/{path}?endpoint_override={host}&scheme=http&region=us-east-1"


def test_a_bucket_gives_the_rows_a_folder_gives(tmp_path: Path) -> None:
    x, _ = two_sets(500)
    write_folder(tmp_path / "bucket" / "deep" / "old", x, names_of(500))
    with serve(tmp_path) as host:
        for path in ("deep/old", "deep/*/part-*.parquet", "deep/old/part-0.parquet"):
            table = open_table(address(host, path))
            found = np.concatenate([v for p in table.pieces for _, v in table.blocks(p)])
            np.testing.assert_array_equal(found, x[: len(found)])
            assert len(found) == (167 if path.endswith("0.parquet") else 500)
            assert table.id_of(100) == "item 100"


def test_an_array_on_a_store_is_not_looked_for_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A path of a bucket may be one of the working folder too, of another array."""
    (tmp_path / "bucket").mkdir()
    np.save(tmp_path / "bucket" / "x.npy", np.ones((9, 2)))
    monkeypatch.chdir(tmp_path)
    with serve(tmp_path) as host, pytest.raises(InputError, match="an array is mapped from a disk"):
        open_table(address(host, "x.npy"))


def test_what_is_not_on_the_store_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "bucket").mkdir()
    with serve(tmp_path) as host, pytest.raises(InputError) as caught:
        open_table(address(host, "nowhere"))
    assert "there is no such file or folder" in str(caught.value)


def test_a_store_that_cannot_be_reached_is_one_line() -> None:
    with pytest.raises(InputError, match="cannot be read") as caught:
        open_table(address("127.0.0.1:1", "old"))
    assert "\n" not in str(caught.value)


def test_a_store_that_never_answers_is_asked_three_times() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        attempts = []

        def hang_up() -> None:
            for _ in range(10):
                connection, peer = listening.accept()
                attempts.append(peer)
                connection.close()

        Thread(target=hang_up, daemon=True).start()
        with pytest.raises(InputError, match="cannot be read"):
            open_table(address(f"127.0.0.1:{listening.getsockname()[1]}", "old"))
    assert len(attempts) == 3


def test_googles_store_is_given_up_too(monkeypatch: pytest.MonkeyPatch) -> None:
    if not hasattr(pyarrow.fs, "GcsFileSystem"):
        pytest.skip("pyarrow came without Google's stores")
    monkeypatch.setattr(table_files, "_PATIENCE", timedelta(seconds=1))
    with pytest.raises(InputError, match="cannot be read") as caught:
        open_table("gs://anonymous@bucket/old?scheme=http&endpoint_override=127.0.0.1:1")
    assert "\n" not in str(caught.value)


def test_a_bucket_whose_region_nobody_tells_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    class Unreachable:
        @staticmethod
        def from_uri(where: str) -> None:
            raise OSError("When resolving region for bucket 'b': AWS Error NETWORK_CONNECTION")

    monkeypatch.setattr("pyarrow.fs.FileSystem", Unreachable)
    with pytest.raises(
        InputError, match=r"resolving region.*\?region=eu-west-1 behind the address"
    ):
        open_table("s3://b/old")
