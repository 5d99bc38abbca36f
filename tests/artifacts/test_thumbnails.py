"""Thumbnails come back by id, and a wrong file is refused in one line."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sag_vicreg.artifacts import read_thumbnails, write_thumbnails
from sag_vicreg.errors import InputError


def test_thumbnails_come_back_by_id(tmp_path: Path) -> None:
    path = tmp_path / "embeddings" / "thumbnails.parquet"
    write_thumbnails(path, ["b", "a"], [b"second", b"first"])
    assert read_thumbnails(path) == {"a": b"first", "b": b"second"}
    assert pq.read_schema(path).names == ["id", "image"]


@pytest.mark.parametrize(
    ("ids", "images", "message"),
    [(["a"], [], "1 ids but 0 thumbnails"), (["a", "a"], [b"", b""], "ids repeat")],
)
def test_ids_and_images_must_match(
    tmp_path: Path, ids: list[str], images: list[bytes], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        write_thumbnails(tmp_path / "t.parquet", ids, images)


def test_a_missing_or_foreign_file_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such file"):
        read_thumbnails(tmp_path / "t.parquet")
    (tmp_path / "t.parquet").write_text("not parquet")
    with pytest.raises(InputError, match="not a file of thumbnails"):
        read_thumbnails(tmp_path / "t.parquet")
    for columns in ({"other": [1]}, {"id": ["a"], "image": ["text"]}):
        pq.write_table(pa.table(columns), tmp_path / "t.parquet")
        with pytest.raises(InputError, match="columns id and image"):
            read_thumbnails(tmp_path / "t.parquet")
