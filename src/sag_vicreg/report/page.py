"""Assembly: everything computed, escaped, and put into one file."""

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sag_vicreg import __version__
from sag_vicreg.figures.style import PALETTE
from sag_vicreg.report.atlas import Atlas
from sag_vicreg.report.charts import ChartGroup
from sag_vicreg.report.maps import ModelMap
from sag_vicreg.report.moved import Moved
from sag_vicreg.report.points import Points
from sag_vicreg.report.trees import Trees, examples_of
from sag_vicreg.report.whole import Whole

ASSETS = resources.files("sag_vicreg.report") / "assets"
SCRIPTS = (
    "state",
    "pictures",
    "toolbar",
    "moved",
    "whole",
    "trees",
    "maps",
    "neighbours",
    "charts",
    "main",
)


def packed(array: NDArray[Any], dtype: str) -> dict[str, str]:
    """Encode an array for the page: little-endian bytes in base64 are a third of JSON's digits."""
    data = np.ascontiguousarray(array, dtype=f"<{dtype}")
    return {"dtype": dtype, "base64": base64.b64encode(data.tobytes()).decode()}


def page_data(
    points: Points | None,
    rows: NDArray[np.intp],
    *,
    maps: Sequence[ModelMap],
    trees: Trees | None,
    atlas: Atlas | None,
    groups: Sequence[ChartGroup],
    start: tuple[int, int | None],
    moved: Moved | None = None,
    whole: Whole | None = None,
) -> dict[str, Any]:
    """Everything the page's script reads."""
    classes, labels = (points.classes, points.labels) if points else ((), None)
    return {
        "palette": PALETTE,
        "models": [m.name for m in points.models] if points else [],
        "noun": points.noun if points else None,
        "classes": list(classes),
        "levels": [
            {
                "noun": level.noun,
                "names": level.names,
                "groups_of_classes": level.groups_of_classes.tolist(),
            }
            for level in (points.levels if points else ())
        ],
        "start": {"left": start[0], "right": start[1], "level": 0},
        "points": None
        if points is None
        else {
            "count": len(rows),
            "ids": None if points.ids is None else [points.ids[row] for row in rows],
            "classes": None if labels is None else packed(labels[rows], "u2"),
            "texts": None if points.texts is None else [points.texts[row] for row in rows],
        },
        "examples": []
        if labels is None
        else [examples_of(label, labels[rows]) for label in range(len(classes))],
        "thumbnails": None
        if atlas is None
        else {
            "atlases": [base64.b64encode(image).decode() for image in atlas.images],
            "columns": atlas.columns,
            "tiles": packed(atlas.tiles, "i4"),
        },
        # x of all points, then y of all: the script takes either half without copying.
        "maps": [
            {
                "points": packed(m.points.T, "f4"),
                "centroids": None if m.centroids is None else packed(m.centroids.T, "f4"),
            }
            for m in maps
        ],
        "neighbours": [
            {
                "indices": packed(m.neighbours.indices, "u2"),
                "cosines": packed(np.round(100 * m.neighbours.similarity), "i1"),
            }
            for m in maps
        ],
        "neighbour_count": maps[0].neighbours.indices.shape[1] if maps else 0,
        "trees": asdict(trees) if trees else None,
        "charts": [
            {"id": f"{group.id}-{place}", "group": group.id, **asdict(chart)}
            for group in groups
            for place, chart in enumerate(group.charts)
        ],
        "moved": None if moved is None else {"movers": list(moved.movers)},
        "whole": None if whole is None else [each.to_dict() for each in whole.outlines],
    }


def render(context: Mapping[str, Any], data: Mapping[str, Any]) -> str:
    """Fill the page; the result asks nothing of the network."""
    from jinja2 import Environment, StrictUndefined
    from plotly.offline import get_plotlyjs

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    template = environment.from_string((ASSETS / "page.html").read_text(encoding="utf-8"))
    script = "\n".join((ASSETS / f"{name}.js").read_text(encoding="utf-8") for name in SCRIPTS)
    return template.render(
        **context,
        version=__version__,
        style=(ASSETS / "report.css").read_text(encoding="utf-8"),
        # In a script element only "</" and "<!--" could end it early; JSON may escape any "<".
        data=json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c"),
        plotly=get_plotlyjs(),
        script=f'(() => {{\n"use strict";\n{script}\n}})();',
    )
