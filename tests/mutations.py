"""Seeded damage to the bytes of a good file."""

import random
import re
from collections.abc import Callable

NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
NASTY = (
    *(b"NaN", b"nan", b"Infinity", b"-inf", b"1e308", b"1e999", b"-1", b"0"),
    *(b'"text"', b"null", b"true", b"[]", b"{}", b"[[1, 2], 3]", b'"\\ud800"', b"\x1b[31m", b""),
    *(b"1" * 30, b"9" * 5000, b"[" * 70, b"[" * 5000, b"{" * 200, b'{"a":' * 500, b"- " * 300),
    *(b"&a [*a, *a]", b"\xff\xfe"),
)
EXTREMES = (0, 1, 0x7F, 0x80, 0xFF)


def flip(data: bytes, rng: random.Random) -> bytes:
    """Change one to four bytes."""
    changed = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        changed[rng.randrange(len(data))] ^= rng.randint(1, 255)
    return bytes(changed)


def flip_bit(data: bytes, rng: random.Random) -> bytes:
    """Change one bit."""
    changed = bytearray(data)
    changed[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def cut(data: bytes, rng: random.Random) -> bytes:
    """Lose the end."""
    return data[: rng.randrange(len(data))]


def lose(data: bytes, rng: random.Random) -> bytes:
    """Lose a piece in the middle."""
    start = rng.randrange(len(data))
    return data[:start] + data[start + rng.randint(1, 40) :]


def repeat(data: bytes, rng: random.Random) -> bytes:
    """Write a piece twice."""
    start = rng.randrange(len(data))
    end = start + rng.randint(1, 200)
    return data[:end] + data[start:]


def extreme(data: bytes, rng: random.Random) -> bytes:
    """Overwrite four or eight bytes, as those of a length or an offset, by an extreme number."""
    width, start = rng.choice((4, 8)), rng.randrange(len(data))
    return data[:start] + bytes([rng.choice(EXTREMES)]) * width + data[start + width :]


def replace_number(data: bytes, rng: random.Random) -> bytes:
    """Put something else where a number stands in text."""
    found = list(NUMBER.finditer(data))
    if not found:
        return flip(data, rng)
    place = rng.choice(found)
    return data[: place.start()] + rng.choice(NASTY) + data[place.end() :]


def insert(data: bytes, rng: random.Random) -> bytes:
    """Put something in between."""
    start = rng.randrange(len(data))
    return data[:start] + rng.choice(NASTY) + data[start:]


MUTATIONS: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    *(flip, flip_bit, cut, lose, repeat, extreme),
    *(replace_number, replace_number, insert),
)


def mutants(data: bytes, *, count: int, seed: int) -> list[bytes]:
    """Damage ``data`` in ``count`` ways."""
    rng = random.Random(seed)
    return [rng.choice(MUTATIONS)(data, rng) for _ in range(count)]
