"""Twelve outlines as signed distances: negative inside, positive outside, near 0 a true distance.

Every function takes local coordinates ``u`` and ``v`` (any shape), in which the figure fills about
the unit disc, and returns an array of the same shape. A distance instead of a mask lets the scene
draw edges, shadows and glows of any width without supersampling.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating]
Outline = Callable[[Array, Array], Array]


def length(u: Array, v: Array) -> Array:
    """Length of (u, v); faster than ``np.hypot``, which guards against overflow."""
    return np.asarray(np.sqrt(u * u + v * v))


def _disc(u: Array, v: Array, radius: float) -> Array:
    return length(u, v) - radius


def _both(a: Array, b: Array) -> Array:
    """Inside both figures."""
    return np.asarray(np.maximum(a, b))


def _fold(u: Array, v: Array, n: int) -> tuple[Array, Array]:
    """Fold the plane onto one of ``n`` equal sectors, centred on the u axis."""
    angle = np.arctan2(v, u)
    sector = 2 * np.pi / n
    angle = np.abs(np.mod(angle + sector / 2, sector) - sector / 2)
    radius = length(u, v)
    return radius * np.cos(angle), radius * np.sin(angle)


def _segment(u: Array, v: Array, a: tuple[float, float], b: tuple[float, float]) -> Array:
    """Distance to the segment from ``a`` to ``b``, negative on its left side."""
    du, dv = b[0] - a[0], b[1] - a[1]
    along = np.clip(((u - a[0]) * du + (v - a[1]) * dv) / (du * du + dv * dv), 0, 1)
    distance = length(u - a[0] - along * du, v - a[1] - along * dv)
    return np.where((u - a[0]) * dv - (v - a[1]) * du > 0, distance, -distance)


def _polygon(u: Array, v: Array, n: int, apothem: float) -> Array:
    return _fold(u, v, n)[0] - apothem


def _star(u: Array, v: Array, n: int, inner: float) -> Array:
    """Star of ``n`` points at radius 1 and ``n`` notches at radius ``inner``."""
    x, y = _fold(u, v, n)
    notch = (inner * np.cos(np.pi / n), inner * np.sin(np.pi / n))
    return _segment(x, y, (1.0, 0.0), notch)


def clover(u: Array, v: Array) -> Array:
    """Four round petals."""
    x, y = _fold(u, v, 4)
    return _disc(x - 0.54, y, 0.42)


def daisy(u: Array, v: Array) -> Array:
    """Eight slim petals."""
    x, y = _fold(u, v, 8)
    return _disc(x - np.clip(x, 0.2, 0.8), y, 0.18)


def leaf(u: Array, v: Array) -> Array:
    """Lens: two arcs that meet in two tips."""
    return length(u, np.abs(v) + 0.75) - 1.25


def heart(u: Array, v: Array) -> Array:
    """Heart-shaped leaf, tip along u."""
    x, y = np.abs(v) / 1.5, (0.75 - u) / 1.5
    lobe = length(x - 0.25, y - 0.75) - 2**0.5 / 4
    half = np.maximum(x + y, 0) / 2
    tip = length(x - half, y - half) * np.sign(x - y)
    top = length(x, y - 1)
    distance = np.where(x + y > 1, lobe, np.where(np.abs(tip) < top, tip, np.sign(x - y) * top))
    return 1.5 * distance


def gear(u: Array, v: Array) -> Array:
    """Eight teeth around a hole."""
    radius, angle = length(u, v), np.arctan2(v, u)
    teeth = 0.84 + 0.13 * np.tanh(3 * np.sin(8 * angle))
    return _both(radius - teeth, 0.32 - radius)


def nut(u: Array, v: Array) -> Array:
    """Hexagon around a hole."""
    return _both(_polygon(u, v, 6, 0.84), 0.42 - length(u, v))


def square(u: Array, v: Array) -> Array:
    """Four equal sides."""
    return _polygon(u, v, 4, 0.76)


def triangle(u: Array, v: Array) -> Array:
    """Three equal sides."""
    return _polygon(u + 0.08, v, 3, 0.55)


def star(u: Array, v: Array) -> Array:
    """Five points."""
    return _star(u, v, 5, 0.45)


def spark(u: Array, v: Array) -> Array:
    """Four thin points."""
    return _star(u, v, 4, 0.3)


def crescent(u: Array, v: Array) -> Array:
    """Disc with a bite taken out."""
    return _both(_disc(u, v, 0.9), -_disc(u - 0.5, v, 0.72))


def planet(u: Array, v: Array) -> Array:
    """Disc inside a flat ring seen from the side."""
    ring = np.abs(length(u, v * 3.2) - 0.95) - 0.12
    return -_both(-_disc(u, v, 0.6), -ring / 1.6)


OUTLINES: dict[str, Outline] = {
    outline.__name__: outline
    for outline in (
        clover,
        daisy,
        leaf,
        heart,
        gear,
        nut,
        square,
        triangle,
        star,
        spark,
        crescent,
        planet,
    )
}
