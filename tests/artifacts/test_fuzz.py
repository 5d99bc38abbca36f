"""A good file of every kind, damaged in a thousand ways: refused in one line, or read as it is."""

from pathlib import Path

import numpy as np
import pytest

from made_files import CASES
from mutations import mutants
from sag_vicreg.errors import InputError

DAMAGED = 1000


def same(found: object, expected: object) -> bool:
    """Whether two plain values are equal, NaN being equal to itself."""
    try:
        np.testing.assert_equal(found, expected)
    except AssertionError:
        return False
    return True


@pytest.mark.parametrize("kind", CASES)
def test_a_damaged_file_is_refused_in_one_line_or_read_as_others_read_it(
    tmp_path: Path, kind: str
) -> None:
    case = CASES[kind]
    path = tmp_path / f"file{case.suffix}"
    case.write(path)
    good = path.read_bytes()
    original = case.read(path)
    assert same(original, case.truth(good))
    refused = 0
    for number, data in enumerate(mutants(good, count=DAMAGED, seed=len(kind))):
        path.write_bytes(data)
        try:
            found = case.read(path)
        except InputError as error:
            message = str(error)
            assert str(path) in message
            assert message.isprintable(), message
            assert len(message) < 1000, message
            refused += 1
        else:
            expected = original if case.checksum else case.truth(data)
            assert same(found, expected), f"damage {number}: {found} and not {expected}"
    assert refused > DAMAGED / 10
