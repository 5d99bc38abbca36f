"""Drawing: one class at a time, all its images at once, each with its own nuisances."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sag_vicreg.data.shapes.outlines import OUTLINES, Array
from sag_vicreg.data.shapes.surfaces import BACKGROUNDS, FIGURES, MARKS, TEXTURES

# How often a scene borrows another kingdom's background, and its figures the colours of the
# kingdom's other family: the tree shows in the pixels, but no single cue gives it away.
BORROWED = 0.2
# Few enough that a layer of the scene stays in a core's cache.
_PIXELS_AT_A_TIME = 2**16


@dataclass(frozen=True)
class ShapeClass:
    """What makes a class: the four choices on its path through the tree."""

    kingdom: str
    family: str
    texture: str
    outline: str
    count: int


class Nuisances:
    """Uniform numbers in [0, 1), handed out column by column; row i belongs to image i alone."""

    COLUMNS = 64

    def __init__(self, uniforms: Array) -> None:
        self._columns: Iterator[Array] = iter(uniforms.T)

    def uniform(self, low: float = 0.0, high: float = 1.0) -> Array:
        """One number per image in [low, high)."""
        return low + (high - low) * next(self._columns)


def draw_class(kind: ShapeClass, n: int, size: int, rng: np.random.Generator) -> NDArray[np.uint8]:
    """Draw ``n`` images of one class, (n, 3, size, size).

    The first m images are the same whatever ``n`` is.
    """
    draws, noise = rng.spawn(2)
    uniforms = draws.random((n, Nuisances.COLUMNS), dtype=np.float32)
    images = np.empty((n, 3, size, size), dtype=np.uint8)
    chunk = max(1, _PIXELS_AT_A_TIME // size**2)
    for start in range(0, n, chunk):
        rows = slice(start, start + chunk)
        images[rows] = _draw(kind, Nuisances(uniforms[rows]), size, noise)
    return images


def _draw(
    kind: ShapeClass, nuisances: Nuisances, size: int, noise: np.random.Generator
) -> NDArray[np.uint8]:
    axis = (np.arange(size, dtype=np.float32) + 0.5) * (2 / size) - 1
    x, y = np.meshgrid(axis, axis)
    canvas = _background(kind, nuisances, x, y)
    light = nuisances.uniform(0, 2 * np.pi)
    borrowed = nuisances.uniform() < BORROWED
    for cx, cy, scale in _placements(kind, nuisances):
        colours = _figure_colours(kind, nuisances, borrowed)
        _draw_figure(canvas, kind, nuisances, (x, y), (cx, cy), scale, light, colours)
    exposure = nuisances.uniform(0.65, 1.15)[:, None, None, None]
    grain = nuisances.uniform(0.01, 0.045)[:, None, None, None]
    canvas = canvas * exposure + grain * noise.standard_normal(canvas.shape, dtype=np.float32)
    return np.asarray(np.rint(np.clip(canvas, 0, 1) * 255), dtype=np.uint8)


def _background(kind: ShapeClass, nuisances: Nuisances, x: Array, y: Array) -> Array:
    """Paint a gradient between two colours of the kingdom, with a faint pattern over it."""
    kingdoms = list(BACKGROUNDS)
    own = kingdoms.index(kind.kingdom)
    borrowed = nuisances.uniform() < BORROWED
    step = 1 + (nuisances.uniform() < 0.5)
    chosen = np.where(borrowed, (own + step) % len(kingdoms), own)
    first, second = (_background_colour(chosen, nuisances) for _ in range(2))
    angle, offset = nuisances.uniform(0, 2 * np.pi), nuisances.uniform(-0.5, 0.5)
    ramp = _along(angle, x, y) + offset[:, None, None]
    blend = np.clip(0.5 + 0.6 * ramp, 0, 1)[:, None]
    canvas = _blend(first[:, :, None, None], second[:, :, None, None], blend)
    # Two crossed waves: soft blobs when slow, weave when fast.
    pattern = nuisances.uniform(0, 0.09)[:, None, None]
    for _ in range(2):
        wave = nuisances.uniform(3, 14)[:, None, None] * _along(
            nuisances.uniform(0, 2 * np.pi), x, y
        )
        pattern = pattern * np.sin(wave + nuisances.uniform(0, 2 * np.pi)[:, None, None])
    return canvas + pattern[:, None]


def _background_colour(chosen: NDArray[np.int64], nuisances: Nuisances) -> Array:
    uniforms = [nuisances.uniform() for _ in range(3)]
    colours = np.stack([palette.pick(*uniforms) for palette in BACKGROUNDS.values()])
    return np.asarray(colours[chosen, np.arange(len(chosen))])


def _placements(kind: ShapeClass, nuisances: Nuisances) -> list[tuple[Array, Array, Array]]:
    """Centre and scale of each figure: one in the middle, or three around it."""
    if kind.count == 1:
        return [
            (
                nuisances.uniform(-0.22, 0.22),
                nuisances.uniform(-0.22, 0.22),
                nuisances.uniform(0.52, 0.82),
            )
        ]
    turn, scale = nuisances.uniform(0, 2 * np.pi), nuisances.uniform(0.32, 0.44)
    placements = []
    for corner in range(kind.count):
        angle = turn + 2 * np.pi * corner / kind.count + nuisances.uniform(-0.25, 0.25)
        radius = nuisances.uniform(0.48, 0.6)
        placements.append((radius * np.cos(angle), radius * np.sin(angle), scale))
    return placements


def _draw_figure(
    canvas: Array,
    kind: ShapeClass,
    nuisances: Nuisances,
    grid: tuple[Array, Array],
    centre: tuple[Array, Array],
    scale: Array,
    light: Array,
    colours: tuple[Array, Array],
) -> None:
    """Paint one figure per image over ``canvas``: shadow, texture, shading, the family's mark."""
    x = grid[0] - centre[0][:, None, None]
    y = grid[1] - centre[1][:, None, None]
    turn = nuisances.uniform(0, 2 * np.pi)
    wide, stretch = scale[:, None, None], nuisances.uniform(0.88, 1.0)[:, None, None]
    outline = OUTLINES[kind.outline]
    pixel = np.float32(2 / canvas.shape[-1])

    def coverage(distance: Array, width: Array | np.float32) -> Array:
        return np.clip(0.5 - distance * wide / width, 0, 1)

    def local(dx: Array | float, dy: Array | float) -> tuple[Array, Array]:
        cos, sin = np.cos(turn)[:, None, None], np.sin(turn)[:, None, None]
        u, v = (x - dx) * cos + (y - dy) * sin, (y - dy) * cos - (x - dx) * sin
        return u / wide, v / (wide * stretch)

    throw_x, throw_y = (0.1 * wide * side(light)[:, None, None] for side in (np.cos, np.sin))
    shadow = coverage(outline(*local(throw_x, throw_y)), 3 * pixel)
    canvas *= 1 - 0.35 * shadow[:, None]

    u, v = local(0, 0)
    distance = outline(u, v)
    base, accent = colours
    texture = TEXTURES[kind.texture](u + nuisances.uniform(-0.1, 0.1)[:, None, None], v)
    colour = _blend(base[:, :, None, None], accent[:, :, None, None], texture[:, None])
    # A soft light from the side the shadow falls away from.
    shading = 1 - 0.18 * _along(light, x / wide, y / wide)
    colour = colour * shading[:, None]
    mark, tone = MARKS[kind.family]
    colour = _blend(colour, tone, 0.8 * mark(u, v, distance)[:, None])
    canvas += (colour - canvas) * coverage(distance, pixel)[:, None]


def _figure_colours(
    kind: ShapeClass, nuisances: Nuisances, borrowed: NDArray[np.bool_]
) -> tuple[Array, Array]:
    """Pick the figure's colour, and a darker or lighter one of the same hue for its texture."""
    uniforms = [nuisances.uniform() for _ in range(3)]
    families = FIGURES[kind.kingdom]
    (other,) = families.keys() - {kind.family}
    own, lent = (families[family].pick(*uniforms) for family in (kind.family, other))
    base = np.where(borrowed[:, None], lent, own)
    darker = (nuisances.uniform() < 0.5)[:, None]
    depth = nuisances.uniform(0.45, 0.65)[:, None]
    accent = np.where(darker, base * (1 - depth), base + (1 - base) * depth)
    return base, np.asarray(accent, dtype=np.float32)


def _along(angle: Array, x: Array, y: Array) -> Array:
    return np.cos(angle)[:, None, None] * x + np.sin(angle)[:, None, None] * y


def _blend(first: Array, second: Array, weight: Array) -> Array:
    return np.asarray(first + (second - first) * weight, dtype=np.float32)
