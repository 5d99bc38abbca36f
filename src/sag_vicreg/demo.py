"""The whole path in a few minutes: train, embed, compare, evaluate, report.

VICReg and SAG-VICReg are trained on either half of the classes of ``shapes``, a dataset drawn from
a seed. All four models embed held-out images of the first half, which two of them never saw. It is
table 1 of the paper in miniature: small enough to watch, too small to settle anything.
"""

import math
import shlex
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Column, Table

from sag_vicreg.artifacts import (
    Embeddings,
    Run,
    ScoreFile,
    read_embeddings,
    read_scores,
    write_json,
)
from sag_vicreg.errors import check_name
from sag_vicreg.evaluation import evaluate
from sag_vicreg.hierarchy import load_hierarchy
from sag_vicreg.recipes import load_recipe
from sag_vicreg.report import build_report
from sag_vicreg.scores import (
    FOREST,
    MISSING,
    NEARBY,
    PAPERS_FIVE,
    UNSTABLE,
    at_level,
    averages,
    measure_of,
    places,
)
from sag_vicreg.structure import (
    Comparison,
    Neighborhood,
    compare,
    neighborhood,
    verdict,
)
from sag_vicreg.training import embed, train

METHODS = {"vicreg": "VICReg", "sag-vicreg": "SAG-VICReg"}
HALVES = {"first": "saw them", "second": "did not"}
# Half a minute each on two cores; everything else is the recipe's.
OVERRIDES: dict[str, tuple[str, ...]] = {
    "cpu": ("schedule.steps=120", "monitor.measure_every=40", "monitor.probe_images=480"),
    "smoke": (),
}
HALF_SAMPLES = 8
VOTERS = 960
CLUSTERS = (6, 12, 24, 48)
HONESTLY = (
    "One seed and a hundred steps on drawn shapes: this shows how the parts work together, not "
    "which method is better."
)


@dataclass(frozen=True)
class DemoModel:
    """One of the four: what it is, where it is, and the command that makes it again."""

    method: str
    half: str
    run: Run
    command: str

    @property
    def name(self) -> str:
        """For tables."""
        return f"{METHODS[self.method]}, {HALVES[self.half]}"

    def embeddings(self, split: str) -> Path:
        """Where the images of the first half of the classes are embedded."""
        return self.run.embedding_file("shapes", split, "first")


def run_demo(out: Path, *, scale: str = "cpu") -> Path:
    """Run the demo in ``out`` and return the path of its page; what is finished is not done again.

    Parameters
    ----------
    out
        Folder of the four runs and of ``report.html``.
    scale
        ``cpu`` (minutes) or ``smoke`` (seconds, to see that everything works).
    """
    check_name("scale of the demo", scale, OVERRIDES)
    console = Console()
    models = [_train(out, method, half, scale, console) for method in METHODS for half in HALVES]
    tests = [_embed(model, "test") for model in models]
    results = [_evaluate(model, test) for model, test in zip(models, tests, strict=True)]
    forests = _print_structure(console, tests)
    console.print(_level_table(models, results))
    said = f"{_who_is_ahead(forests, results)} {HONESTLY}"
    console.print(said, style="dim", width=min(console.width, 100), highlight=False)
    return build_report(
        [out / "runs"],
        out / "report.html",
        commands=_commands(out, models),
        half_samples=HALF_SAMPLES,
    )


def _train(out: Path, method: str, half: str, scale: str, console: Console) -> DemoModel:
    overrides = [*OVERRIDES[scale], f"dataset.classes={half}"]
    recipe = load_recipe(f"shapes/{method}", scale=scale, overrides=overrides)
    run = Run(out / "runs" / f"{method}-{half}")
    doing = "already trained" if run.backbone.exists() else "training"
    console.print(
        f"{doing}: {METHODS[method]} on the {half} half of the classes, "
        f"{recipe.schedule.steps} steps"
    )
    train(recipe, run.folder, resume=run.recipe.exists())
    settings = [word for override in overrides for word in ("--set", override)]
    words = ["--recipe", recipe.name, "--scale", scale, *settings, "--out", str(run.folder)]
    return DemoModel(method, half, run, shlex.join(["sag-vicreg", "train", *words]))


def _embed(model: DemoModel, split: str, max_images: int | None = None) -> Embeddings:
    path = model.embeddings(split)
    if path.exists():
        return read_embeddings(path)
    return embed(
        model.run.folder,
        dataset="shapes",
        split=split,
        classes="first",
        max_images=max_images,
        out=path,
    )


def _evaluate(model: DemoModel, test: Embeddings) -> ScoreFile:
    """Score by level; training images of the same classes vote and teach."""
    if model.run.results.exists():
        return read_scores(model.run.results)
    voters = _embed(model, "train", max_images=VOTERS)
    scores = evaluate(test, load_hierarchy("shapes"), train=voters, cluster_counts=CLUSTERS)
    files = {split: str(model.embeddings(split)) for split in ("test", "train")}
    result = scores.result(model.name, images=files, hierarchy="shapes")
    write_json(model.run.results, asdict(result))
    return result


def _table(title: str, caption: str, columns: Sequence[str]) -> Table:
    """Start a table that fits 80 columns."""
    return Table(
        "",
        *(Column(column, justify="right") for column in columns),
        title=title,
        title_justify="left",
        caption=caption,
        caption_justify="left",
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )


def _print_structure(console: Console, tests: Sequence[Embeddings]) -> list[float]:
    """Print what the two models of each method have in common: in words, then in numbers.

    Return the forest similarity of each method.
    """
    columns, forests = [], []
    for name, first, second in zip(METHODS.values(), tests[::2], tests[1::2], strict=True):
        found = compare(first.vectors, second.vectors, half_samples=HALF_SAMPLES)
        near = neighborhood(*found.trees)
        console.print(f"{name}: {verdict(found, shared_neighbors=near.shared)}.", highlight=False)
        columns.append(_structure_cells(found, near))
        forests.append(found.flat().get(FOREST, math.nan))
    unstable = any("†" in cell for column in columns for cell in column.values())
    table = _table(
        "Similarity of two models: one saw these classes, one did not",
        f"{len(tests[0])} held-out images. In brackets: of the forest its 95% interval; of the "
        "paper's five numbers, which are of one tree per model, mean ± deviation over "
        f"{HALF_SAMPLES} random halves of the images, spread and not confidence."
        + (f" † They move it by more than {UNSTABLE:g}: read the forest." if unstable else ""),
        list(METHODS.values()),
    )
    for key in (FOREST, *NEARBY, *PAPERS_FIVE):
        entry = measure_of(key)
        table.add_row(
            entry.short if key in PAPERS_FIVE else entry.title,
            *(column.get(key, MISSING) for column in columns),
            end_section=key == NEARBY[-1],
        )
    console.print(table)
    return forests


def _structure_cells(found: Comparison, near: Neighborhood) -> dict[str, str]:
    """Fill one column of the table: the forest, neighbours, CKA, then the paper's five."""
    assert found.half_samples is not None
    scores, cells = found.flat(), {"cka": f"{near.cka:.3f}"}
    if FOREST in scores:
        low, high = scores["forest.low"], scores["forest.high"]
        cells[FOREST] = f"{scores[FOREST]:.3f} ({low:.3f} to {high:.3f})"
    if near.shared is not None:
        cells["neighbors.shared"] = f"{near.shared:.1%}"
    for key, spread in found.half_samples.flat().items():
        mark = "†" if spread.unsettles(scores[key]) else ""
        cells[key] = f"{scores[key]:.3f} ({spread.mean:.3f} ± {spread.deviation:.3f}){mark}"
    return cells


def _level_table(models: Sequence[DemoModel], results: Sequence[ScoreFile]) -> Table:
    levels = list(places(results[0].scores, "majority", "level"))
    title, majority = (measure_of(key).title for key in ("knn", "majority"))
    table = _table(
        f"{title} / {measure_of('probe').title.lower()} in percent, by level of the class tree",
        "",
        [f"level {level}" for level in levels],
    )

    def cells(result: ScoreFile, *measures: str) -> list[str]:
        return [
            " / ".join(f"{100 * result.scores[at_level(m, level)]:.1f}" for m in measures)
            for level in levels
        ]

    for model, result in zip(models, results, strict=True):
        table.add_row(model.name, *cells(result, "knn", "probe"))
    table.add_row(majority, *cells(results[0], "majority"))
    return table


def _who_is_ahead(forests: Sequence[float], results: Sequence[ScoreFile]) -> str:
    """Say which method is ahead in what; accuracies are means over its two models."""
    means = [averages([each.scores for each in both]) for both in (results[:2], results[2:])]
    ahead = []
    for place, name in enumerate(METHODS.values()):
        own, other = means[place], means[1 - place]
        won = [measure_of(FOREST).title] if forests[place] > forests[1 - place] else []
        for measure in ("knn", "probe"):
            keys = places(own, measure, "level")
            if levels := [str(n) for n, key in keys.items() if own[key].mean > other[key].mean]:
                many = "s" if len(levels) > 1 else ""
                won.append(f"{measure_of(measure).short} at level{many} {', '.join(levels)}")
        ahead.append(f"{name} in {', '.join(won) or 'nothing'}")
    return f"Ahead here: {'; '.join(ahead)}."


def _commands(out: Path, models: Sequence[DemoModel]) -> list[str]:
    """List what the demo did as single commands, in their order."""
    options = ["--dataset", "shapes", "--classes", "first"]
    voters = [*options, "--split", "train", "--max-images", str(VOTERS)]
    scoring = ["--clusters", ",".join(map(str, CLUSTERS)), "--probe-seeds", "1"]
    halves = ["--half-samples", str(HALF_SAMPLES)]
    runs = {str(model.run.folder): model for model in models}
    commands = [
        *(
            ["embed", folder, *chosen, "--out", str(model.embeddings(split))]
            for split, chosen in (("test", options), ("train", voters))
            for folder, model in runs.items()
        ),
        *(
            ["compare", *(str(model.embeddings("test")) for model in pair), *halves]
            for pair in zip(models[::2], models[1::2], strict=True)
        ),
        *(["evaluate", folder, *scoring] for folder in runs),
        ["report", str(out / "runs"), "--out", str(out / "report.html")],
    ]
    return [model.command for model in models] + [
        shlex.join(["sag-vicreg", *words]) for words in commands
    ]
