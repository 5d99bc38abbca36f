"""What the gate says of switches whose answer is known, on scikit-learn's digits.

The embeddings are hidden layers of small networks, of held-out digits. A rounding changes nothing;
another seed of the same network changes what seeds change, and no more; a training cut short and
another task are other models.
"""

import warnings

import numpy as np
import numpy.typing as npt
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier, MLPRegressor

from benchmarks.report import Report, Target
from sag_vicreg.decisions import ITEMS, Decision, Settings, calibrate, gate
from sag_vicreg.structure import TREES
from sag_vicreg.structure.damage import quantise

Floats = npt.NDArray[np.float64]

UNITS, STEPS, CUT_SHORT = 16, 100, 5
CALIBRATED = (2, 3, 4, 5)
"""Seeds behind the floor; OLD has seed 0, and NEW, where it is another seed, 1."""


def run(*, trees: int = TREES, items: int = ITEMS) -> Report:
    """Gate every switch by the default tolerance and by a floor of other seeds."""
    settings = Settings(trees=trees, items=items)
    old = classifier(0)
    floor = calibrate([classifier(seed) for seed in CALIBRATED], settings=settings)
    half = old.astype(np.float16).astype(np.float64)
    switches: dict[str, tuple[Floats, str, str]] = {
        "float16": (half, "pass", "pass"),
        "int8": (quantise(old, 8), "pass", "pass"),
        "another seed": (classifier(1), "fail", "pass"),
        f"{CUT_SHORT} epochs instead of {STEPS}": (classifier(0, CUT_SHORT), "fail", "fail"),
        "an autoencoder": (autoencoder(), "fail", "fail"),
    }
    rows: list[tuple[str, ...]] = []
    as_expected = 0
    for name, (new, by_tolerance, by_floor) in switches.items():
        one, other = gate(old, new, settings=settings), gate(old, new, floor=floor)
        as_expected += (one.outcome, other.outcome) == (by_tolerance, by_floor)
        rows.append((name, _score(one), one.outcome, other.outcome, one.moved.sentence()))
    return Report(
        f"switches from a network of {UNITS} units on digits, {len(old)} items; the floor is "
        f"{floor.limit(old).score:.4f}, of seeds {CALIBRATED[0]} to {CALIBRATED[-1]}",
        ("to", "forest similarity", "tolerance 0.02", "floor", "what moved"),
        rows,
        [Target("switches judged as expected", as_expected, len(switches))],
    )


def _score(decision: Decision) -> str:
    low, high = decision.similarity.interval
    return f"{decision.similarity.spearman:.4f} ({low:.4f} to {high:.4f})"


def classifier(seed: int, epochs: int = STEPS) -> Floats:
    """Return what the hidden layer of a classifier makes of held-out digits."""
    images, labels = _digits()
    network = MLPClassifier(
        hidden_layer_sizes=(UNITS,), activation="tanh", max_iter=epochs, random_state=seed
    )
    return _hidden(network, images, labels[::2])


def autoencoder() -> Floats:
    """Return the same of a network that draws digits anew."""
    images, _ = _digits()
    network = MLPRegressor(
        hidden_layer_sizes=(UNITS,), activation="tanh", max_iter=STEPS, random_state=0
    )
    return _hidden(network, images, images[::2])


def _digits() -> tuple[Floats, npt.NDArray[np.int64]]:
    images, labels = load_digits(return_X_y=True)
    return images / 16, labels


def _hidden(
    network: MLPClassifier | MLPRegressor, images: Floats, targets: npt.NDArray[np.generic]
) -> Floats:
    """Train on every second digit, and return the hidden layer of the others."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # so many epochs are asked for
        network.fit(images[::2], targets)
    hidden: Floats = np.tanh(images[1::2] @ network.coefs_[0] + network.intercepts_[0])
    return hidden
