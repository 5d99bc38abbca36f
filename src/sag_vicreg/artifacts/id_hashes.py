"""A hash of each row's id: the same in every table, in every process and on every machine.

Rows chosen by such a hash are a uniform sample, and two tables choose the same ones whatever the
order of their rows, without either knowing the other.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pyarrow as pa

Hashes = npt.NDArray[np.uint64]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_WORD = 8


def _mix(x: Hashes) -> Hashes:
    """Let every bit change every other: the finaliser of splitmix64, which is one to one."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def _start(seed: int) -> Hashes:
    return _mix(np.array([seed], np.uint64) * _GOLDEN + _GOLDEN)


def hash_positions(start: int, stop: int, *, seed: int = 0) -> Hashes:
    """Hash the row numbers from ``start`` to ``stop``: the ids of a table that has none."""
    return hash_again(_mix(np.arange(start, stop, dtype=np.uint64) + _GOLDEN), seed=seed)


def hash_ids(ids: "pa.Array", *, seed: int = 0) -> Hashes:
    """Hash text, eight bytes of UTF-8 at a time; two seeds give independent hashes.

    Examples
    --------
    >>> import pyarrow as pa
    >>> one, other = hash_ids(pa.array(["cat", "dog"])), hash_ids(pa.array(["dog", "cat"]))
    >>> bool(one[0] == other[1]), bool(one[0] == one[1])
    (True, False)
    """
    import pyarrow as pa

    text = ids.cast(pa.large_binary())
    _, ends, data = text.buffers()
    bounds = np.frombuffer(ends, np.int64)[text.offset : text.offset + len(text) + 1]
    letters = (data.to_pybytes() if data else b"") + bytes(_WORD)
    # Every eight bytes of the text, wherever they begin.
    words = np.ndarray((len(letters) - _WORD + 1,), "<u8", letters, strides=(1,))
    lengths = np.diff(bounds)
    hashes = _mix(lengths.astype(np.uint64) ^ _start(seed))
    # Word by word, those ids that are so long: a single long one then costs nobody else.
    rows = np.arange(len(lengths))
    for first in range(0, int(lengths.max(initial=0)), _WORD):
        rows = rows[lengths[rows] > first]
        beyond = np.maximum(_WORD - (lengths[rows] - first), 0).astype(np.uint64) * np.uint64(8)
        word = words[bounds[rows] + first] << beyond
        hashes[rows] = _mix((hashes[rows] ^ word) * _GOLDEN + np.uint64(first + 1))
    return hashes


def hash_parts(parts: "Iterable[pa.Array]", seeds: Sequence[int]) -> tuple[Hashes, ...]:
    """Hash the ids of several arrays by each seed, one array at a time."""
    found = [[hash_ids(ids, seed=seed) for seed in seeds] for ids in parts]
    return tuple(np.concatenate(of_seed) for of_seed in zip(*found, strict=True))


def hash_again(hashes: Hashes, *, seed: int) -> Hashes:
    """Turn hashes into others that put the same ids in another random order."""
    return _mix(hashes ^ _start(seed))


def limit_of_first(count: int, rows: int) -> np.uint64:
    """Return a hash below which the ``count`` lowest of ``rows`` lie for certain, and few more."""
    wanted = count + 8 * count**0.5 + 64  # eight deviations more than are needed
    return np.uint64(min(wanted / rows * 2.0**64, 2.0**64 - 2**11))
