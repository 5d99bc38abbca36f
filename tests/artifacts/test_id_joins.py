"""Joins by id against a dictionary; nothing is left on the disk."""

import tempfile
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

from sag_vicreg.artifacts import EmbeddingTable, open_table
from sag_vicreg.artifacts.id_joins import (
    HashPartitions,
    IdPartitions,
    check_ids,
    count_common,
    join_rows,
)
from sag_vicreg.errors import InputError
from tables import names_of, write_folder

N = 2_000
# Bytes of a partition that make 24 of these rows.
FEW = 1 << 14


def table(folder: Path, ids: np.ndarray) -> EmbeddingTable:
    return open_table(write_folder(folder, np.ones((len(ids), 2), np.float32), ids))


def fill(partitions: IdPartitions) -> IdPartitions:
    for piece in partitions.table.pieces:
        first, second = partitions.table.hashes(piece, seeds=(0, 1))
        partitions.add(first, second, np.arange(piece.start, piece.start + piece.rows))
    return partitions


@pytest.mark.parametrize("partition_bytes", [1 << 26, FEW])
def test_rows_find_their_partners(tmp_path: Path, partition_bytes: int) -> None:
    ids = names_of(N)
    other = np.random.default_rng(0).permutation(ids)
    a, b = table(tmp_path / "a", ids), table(tmp_path / "b", other)
    with (
        IdPartitions(a, N, partition_bytes=partition_bytes) as one,
        IdPartitions(b, N, partition_bytes=partition_bytes) as two,
    ):
        assert one.count == (1 if partition_bytes == 1 << 26 else 24)
        found = list(join_rows(fill(one), fill(two)))
    assert len(found) == one.count
    rows_a, rows_b = (np.concatenate(part) for part in zip(*found, strict=True))
    place = {name: row for row, name in enumerate(other.tolist())}
    partner = np.array([place[name] for name in ids.tolist()])
    np.testing.assert_array_equal(np.sort(rows_a), np.arange(N))
    np.testing.assert_array_equal(rows_b, partner[rows_a])


@pytest.mark.parametrize("held", [True, False])
def test_repeats_and_what_is_common_are_counted_over_partitions(held: bool) -> None:
    rng = np.random.default_rng(1)
    sets = [rng.integers(0, 3 * N, size=N).astype(np.uint64) for _ in range(3)]
    with ExitStack() as stack:
        every = [
            stack.enter_context(HashPartitions(N, held=held, partition_bytes=FEW)) for _ in sets
        ]
        for partitions, hashes in zip(every, sets, strict=True):
            assert partitions.count == 24
            partitions.add(hashes, hashes + np.uint64(1), np.arange(N))
            assert partitions.repeats == N - len(set(hashes.tolist())) > 0
        assert count_common(every) == len(set.intersection(*(set(x.tolist()) for x in sets))) > 0


def test_what_cannot_be_joined_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    Path(tempfile.gettempdir()).mkdir()
    ids = names_of(N)
    changed = ids.copy()
    changed[[10, 1_999]] = ["stranger", "another"]
    a, b = table(tmp_path / "a", ids), table(tmp_path / "b", changed)
    with (
        IdPartitions(a, N, partition_bytes=FEW) as one,
        IdPartitions(b, N, partition_bytes=FEW) as two,
        pytest.raises(InputError, match=r"'item 1(0|999)' is missing from .*b \(2 missing in all"),
    ):
        check_ids(fill(one), fill(two))
    changed[5] = "item 1700"
    c = table(tmp_path / "c", changed)
    with (
        IdPartitions(a, N, partition_bytes=FEW) as one,
        IdPartitions(c, N, partition_bytes=FEW) as two,
        pytest.raises(InputError, match="'item 1700' is repeated in"),
    ):
        check_ids(fill(one), fill(two))
    assert list((tmp_path / "temporary").iterdir()) == []


def test_a_disk_without_room_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    with (
        pytest.raises(InputError, match=r"cannot write temporary files to .*nowhere"),
        IdPartitions(table(tmp_path / "a", names_of(9)), 9),
    ):
        pass
