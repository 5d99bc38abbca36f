"""What fills an outline and what lies behind it: five textures and the palettes of the tree."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sag_vicreg.data.shapes.outlines import Array, length


def plain(u: Array, v: Array) -> Array:
    """One colour all over."""
    return np.zeros_like(u)


def striped(u: Array, v: Array) -> Array:
    """Bands across the u axis."""
    return _soft_step(np.sin((2 * np.pi / 0.56) * u))


def dotted(u: Array, v: Array) -> Array:
    """Dots on a square grid."""
    x, y = (np.mod(axis / 0.62, 1) - 0.5 for axis in (u, v))
    return _soft_step(10 * (0.3 - length(x, y)))


def checked(u: Array, v: Array) -> Array:
    """Chessboard."""
    wave = np.pi / 0.42
    return _soft_step(4 * np.sin(wave * u) * np.sin(wave * v))


def ringed(u: Array, v: Array) -> Array:
    """Rings around the centre."""
    return _soft_step(np.sin((2 * np.pi / 0.5) * length(u, v)))


def _soft_step(x: Array) -> Array:
    return np.asarray(np.clip(0.5 + 1.2 * x, 0, 1))


TEXTURES: dict[str, Callable[[Array, Array], Array]] = {
    texture.__name__: texture for texture in (plain, striped, dotted, checked, ringed)
}


@dataclass(frozen=True)
class Palette:
    """Ranges of hue, saturation and value; hues in turns, so 1.05 is 0.05."""

    hue: tuple[float, float]
    saturation: tuple[float, float]
    value: tuple[float, float]

    def pick(self, hue: Array, saturation: Array, value: Array) -> Array:
        """Colours (n, 3) in [0, 1] for uniform numbers in [0, 1)."""
        ranges = (self.hue, self.saturation, self.value)
        h, s, v = (
            low + (high - low) * uniform
            for (low, high), uniform in zip(ranges, (hue, saturation, value), strict=True)
        )
        return hsv_to_rgb(h, s, v)


def hsv_to_rgb(hue: Array, saturation: Array, value: Array) -> Array:
    """RGB colours (..., 3) of hues in turns."""
    turns = (np.array([5, 3, 1], dtype=np.float32) + 6 * hue[..., None]) % 6
    wedge = np.clip(np.minimum(turns, 4 - turns), 0, 1)
    return np.asarray(value[..., None] * (1 - saturation[..., None] * wedge), dtype=np.float32)


# Level 1 of the tree sets the scene behind the figures, level 2 the figures' own colours.
BACKGROUNDS = {
    "garden": Palette((0.12, 0.34), (0.15, 0.50), (0.60, 0.98)),
    "workshop": Palette((0.02, 0.14), (0.10, 0.45), (0.35, 0.75)),
    "sky": Palette((0.55, 0.78), (0.35, 0.85), (0.12, 0.55)),
}
FIGURES = {
    "garden": {
        "flowers": Palette((0.80, 1.08), (0.45, 0.95), (0.75, 1.00)),
        "foliage": Palette((0.20, 0.45), (0.50, 0.95), (0.35, 0.75)),
    },
    "workshop": {
        "parts": Palette((0.50, 0.68), (0.08, 0.45), (0.55, 0.95)),
        "tiles": Palette((0.98, 1.13), (0.55, 0.95), (0.55, 0.95)),
    },
    "sky": {
        "stars": Palette((0.08, 0.19), (0.35, 0.90), (0.85, 1.00)),
        "moons": Palette((0.48, 0.92), (0.05, 0.40), (0.70, 1.00)),
    },
}


def _centre(u: Array, v: Array, distance: Array) -> Array:
    return _soft_step(8 * (0.2 - length(u, v)))


def _midrib(u: Array, v: Array, distance: Array) -> Array:
    return _soft_step(8 * (0.04 - np.abs(v)))


def _rim(u: Array, v: Array, distance: Array) -> Array:
    return _soft_step(8 * (distance + 0.06))


def _limb(u: Array, v: Array, distance: Array) -> Array:
    return np.asarray(0.5 * np.clip(1 + distance / 0.35, 0, 1))


# What every member of a family wears, whatever its outline and texture: where, and in what colour.
MARKS: dict[str, tuple[Callable[[Array, Array, Array], Array], Array]] = {
    family: (where, np.array(colour, dtype=np.float32).reshape(3, 1, 1))
    for family, where, colour in (
        ("flowers", _centre, (1.0, 0.82, 0.25)),
        ("foliage", _midrib, (0.86, 0.92, 0.62)),
        ("parts", _rim, (0.22, 0.24, 0.30)),
        ("tiles", _rim, (0.98, 0.90, 0.78)),
        ("stars", _centre, (1.0, 1.0, 0.92)),
        ("moons", _limb, (0.35, 0.30, 0.55)),
    )
}
