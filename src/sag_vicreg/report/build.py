"""From sources to the page, step by step."""

import inspect
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sag_vicreg.artifacts import (
    ColumnNames,
    check_apart,
    check_writable,
    read_thumbnails,
    write_text,
)
from sag_vicreg.errors import InputError, visible
from sag_vicreg.report import wording
from sag_vicreg.report.atlas import Atlas, build_atlas
from sag_vicreg.report.charts import chart_groups
from sag_vicreg.report.comparing import compare_models, half_pairs, model_pairs
from sag_vicreg.report.flow import WIDTH as FLOW_WIDTH
from sag_vicreg.report.headline import (
    Headline,
    reproduction_headline,
    run_headline,
    structure_headline,
)
from sag_vicreg.report.large import open_tables, sample_points
from sag_vicreg.report.lines import score_lines
from sag_vicreg.report.maps import map_models
from sag_vicreg.report.moved import build_moved
from sag_vicreg.report.page import page_data, render
from sag_vicreg.report.points import Points, gather_points
from sag_vicreg.report.sources import Model, open_sources
from sag_vicreg.report.trees import build_trees
from sag_vicreg.report.whole import build_whole
from sag_vicreg.scores import own_measures
from sag_vicreg.structure.comparing import CompareOptions
from sag_vicreg.structure.points import FEWEST_POINTS

# Points and classes are counted in 16 bits where the page's script reads them.
_MOST = 65_535


def build_report(
    sources: Sequence[Path | str],
    out: Path | str,
    *,
    hierarchy: str | None = None,
    embeddings: str | None = None,
    title: str | None = None,
    commands: Sequence[str] = (),
    max_points: int = 10_000,
    trees: int = 100,
    half_samples: int = 8,
    seed: int = 0,
    join: str = "exact",
    columns: Sequence[ColumnNames] = (),
    clusters: bool = False,
    measures: Sequence[str] = (),
) -> Path:
    """Write one self-contained page about runs, embedding files or a whole reproduction.

    Parameters
    ----------
    sources
        Run folders, embedding files, folders of runs or of results, in any mixture. Models are
        matched image by image: by id, or by position where a file has no ids.
    out
        The HTML file.
    hierarchy
        A packaged class tree or a CSV file; by default the one of the runs' dataset.
    embeddings
        Which embedding file of each run; by default one they all have, held-out images first.
    title
        Of the page; by default made from the models' names.
    commands
        What made it, shown at the end; by default the report's own command.
    max_points
        Most images on the map; more are sampled evenly over the classes.
    trees
        Of each model's forest, a multiple of 4; 0 leaves the forest similarity out.
    half_samples
        Random halves of the images behind the spread of each single-tree score: 0 for none, or at
        least 2.
    seed
        Of maps, samples, forests and half-samples.
    join
        Where the models' ids do not agree, ``exact`` refuses, and ``inner`` keeps the rows that
        all have, as in :func:`~sag_vicreg.artifacts.join`.
    columns
        What the columns of each source are, where it is an embedding file that does not say so
        plainly.
    clusters
        Take the sources, one or two, for tables of any size as
        :func:`~sag_vicreg.artifacts.open_table` does, and add a tree of all their rows, branch by
        branch. The rest of the page is of ``max_points`` random rows.
    measures
        Names of measures of two sets that other installed packages bring.

    Returns
    -------
    Path
        ``out``.
    """
    out = Path(out)
    if not FEWEST_POINTS <= max_points <= _MOST:
        raise InputError(f"max_points is {max_points}: choose {FEWEST_POINTS} to {_MOST}")
    CompareOptions(trees=trees, half_samples=half_samples, seed=seed)  # checks them
    own = own_measures(measures, of="pair")
    check_apart([out], [*sources, *([] if hierarchy is None else [hierarchy])])
    check_writable(out)
    tables = open_tables(sources, columns) if clusters else []
    points: Points | None
    if clusters:
        found, points = sample_points(tables, max_points, hierarchy=hierarchy, seed=seed)
    else:
        found = open_sources(sources, columns)
        points = gather_points(found.models, which=embeddings, hierarchy=hierarchy, how=join)
    if points and len(points.classes) > _MOST:
        raise InputError(
            f"the labels are {len(points.classes):,} classes, and a page shows at most "
            f"{_MOST:,}: name the column of classes by --label-column"
        )
    rows = points.sample(max_points, seed) if points else np.arange(0)
    explored = points if len(rows) >= FEWEST_POINTS else None

    lines = score_lines(found.models, found.results)
    halves = half_pairs(explored.models) if explored else {}
    pairs = model_pairs(explored.models) if explored else {}
    noun = points.noun if points else ""
    headline, changed = reproduction_headline(lines), None
    if explored and pairs and headline is None:
        compared = compare_models(
            explored, pairs, own, trees=trees, half_samples=half_samples, seed=seed
        )
        changed = compared[0].moved
        headline = structure_headline(
            compared, own, halves=bool(halves), half_samples=half_samples, noun=noun
        )
    elif own:
        raise InputError(f"measure {own[0].key} is of two sets, and no two are compared here")
    headline = headline or _run_headline(found.models, explored)
    groups = chart_groups(found.models, lines)
    maps = map_models(explored, rows, seed=seed) if explored else []
    drawn = build_trees(explored, rows, changed, trees=trees, seed=seed) if explored else None
    atlas = _atlas(explored, rows) if explored else None
    moved = build_moved(explored, rows, changed) if explored and changed else None
    whole = build_whole(tables, [m.name for m in found.models], seed=seed) if clusters else None

    data = page_data(
        explored,
        rows,
        maps=maps,
        trees=drawn,
        atlas=atlas,
        groups=groups,
        start=next(iter(pairs.values()), (0, None)),
        moved=moved,
        whole=whole,
    )
    sections = {
        "scores": ("Scores", bool(headline.findings or headline.tables)),
        "moved": ("What moved", bool(moved or (whole and whole.flow))),
        "rows": ("All rows", whole is not None),
        "trees": ("Trees", drawn is not None),
        "map": ("Map", bool(maps)),
        "neighbours": ("Neighbours", bool(maps)),
        **{group.id: (group.title, True) for group in groups},
        "made": ("How it was made", True),
    }
    command = _command(
        sources,
        out,
        columns,
        measures,
        hierarchy=hierarchy,
        embeddings=embeddings,
        title=title,
        max_points=max_points,
        trees=trees,
        half_samples=half_samples,
        seed=seed,
        join=join,
        clusters=clusters,
    )
    context: dict[str, Any] = {
        "title": title or wording.page_title(found, list(halves)),
        "lead": wording.lead(found, points),
        "notices": wording.notices(found, points, len(rows), drawn, has_images=atlas is not None),
        "sections": {name: title for name, (title, shown) in sections.items() if shown},
        "headline": headline,
        "explore": bool(maps),
        "noun": noun,
        "models": data["models"],
        "start": data["start"],
        "levels": [level.title for level in points.levels] if points else [],
        "classes": data["classes"],
        "moved": moved,
        "whole": whole,
        "flow_width": FLOW_WIDTH,
        "trees": wording.about_trees(points, drawn) if points and drawn else {},
        "map": wording.about_map(points, len(rows)) if points else {},
        "neighbours": {"about": wording.about_neighbours(points) if points else ""},
        "chart_groups": groups,
        "commands": list(commands) or [command],
        "recipes": [
            {"name": m.name, "path": visible(str(m.path)), "text": m.recipe.to_yaml()}
            for m in found.models
            if m.recipe is not None
        ],
    }
    write_text(out, render(context, data))
    return out


def _run_headline(models: Sequence[Model], explored: Points | None) -> Headline:
    """Let one run speak where nothing is compared; of several it says which.

    A reproduction of other tables has no structure to begin with: its charts come first.
    """
    shown = explored.models if explored else models
    return run_headline(shown[0], explored, named=len(models) > 1) if shown else Headline()


def _command(
    sources: Sequence[Path | str],
    out: Path,
    columns: Sequence[ColumnNames],
    measures: Sequence[str],
    **options: Any,
) -> str:
    """Write the command line that makes this page, with every option that is not the default."""
    defaults = inspect.signature(build_report).parameters
    given = [
        f"--{name.replace('_', '-')}" + ("" if value is True else f"={value}")
        for name, value in options.items()
        if value != defaults[name].default
    ]
    for option in ("vector_columns", "id_column", "label_column", "text_column"):
        said = [getattr(each, option) or "" for each in columns]
        values = [each if isinstance(each, str) else ",".join(each) for each in said]
        if any(values):
            # Once where it is the same of all files; else of each, and nothing of some.
            once = values[:1] if len(set(values)) == 1 else values
            given += [f"--{option.replace('_', '-')}={each}" for each in once]
    given += [f"--measure={name}" for name in measures]
    words = ["sag-vicreg", "report", *map(str, sources), "--out", str(out), *given]
    return visible(shlex.join(words))


def _atlas(points: Points, rows: NDArray[np.intp]) -> Atlas | None:
    """Pack the thumbnails beside any of the embedding files; ids find them."""
    if points.ids is None:
        return None
    thumbnails = {
        identity: image
        for path, dataset in points.thumbnails
        for identity, image in read_thumbnails(path, dataset=dataset).items()
    }
    return build_atlas(thumbnails, [points.ids[row] for row in rows])
