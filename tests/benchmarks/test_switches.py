"""The benchmark of switches, on fewer items than it is recorded on."""

import numpy as np

from benchmarks.switches import UNITS, classifier, run


def test_networks_repeat_themselves_and_seeds_differ() -> None:
    first = classifier(0, epochs=2)
    assert first.shape == (898, UNITS)
    np.testing.assert_array_equal(classifier(0, epochs=2), first)
    assert not np.allclose(classifier(1, epochs=2), first)


def test_roundings_pass_and_other_models_fail() -> None:
    found = {row[0]: row[2:4] for row in run(trees=20, items=200).rows}
    assert found["float16"] == found["int8"] == ("pass", "pass")
    assert found["5 epochs instead of 100"] == ("fail", "fail")
    assert found["an autoencoder"][1] == "fail"
    assert found["another seed"][0] != "pass"
