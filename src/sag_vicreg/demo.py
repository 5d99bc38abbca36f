"""The whole path in a few minutes: train, embed, compare, evaluate, report.

VICReg and SAG-VICReg are trained on either half of the classes of ``shapes``, a dataset drawn from
a seed. All four models embed held-out images of the first half, which two of them never saw. It is
table 1 of the paper in miniature: small enough to watch, too small to settle anything.
"""

import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from sag_vicreg.artifacts import Embeddings, Run, read_embeddings, write_json
from sag_vicreg.errors import unknown_name
from sag_vicreg.evaluation import evaluate
from sag_vicreg.hierarchy import load_hierarchy
from sag_vicreg.recipes import load_recipe
from sag_vicreg.report import build_report
from sag_vicreg.structure import compare
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
    "which method is better. SAG-VICReg walks only in the second half of its steps."
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


def run_demo(out: Path, *, scale: str = "cpu", console: Console | None = None) -> Path:
    """Run the demo in ``out`` and return the path of its page; what is finished is not done again.

    Parameters
    ----------
    out
        Folder of the four runs and of ``report.html``.
    scale
        ``cpu`` (minutes) or ``smoke`` (seconds, to see that everything works).
    console
        Where headings and tables go; the terminal by default.
    """
    if scale not in OVERRIDES:
        raise unknown_name("scale of the demo", scale, OVERRIDES)
    console = console or Console()
    models = [_train(out, method, half, scale, console) for method in METHODS for half in HALVES]
    tests = [_embed(model, "test") for model in models]
    results = [_evaluate(model, test) for model, test in zip(models, tests, strict=True)]
    console.print(_structure_table(tests))
    console.print(_level_table(models, results))
    console.print(HONESTLY, style="dim", width=min(console.width, 100))
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
    what = f"{METHODS[method]} on the {half} half of the classes"
    console.print(f"{doing}: {what}, {recipe.schedule.steps} steps")
    train(recipe, run.folder, resume=run.recipe.exists())
    settings = [word for override in overrides for word in ("--set", override)]
    options = ["--scale", scale, *settings, "--out", str(run.folder)]
    command = shlex.join(["sag-vicreg", "train", "--recipe", recipe.name, *options])
    return DemoModel(method, half, run, command)


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


def _evaluate(model: DemoModel, test: Embeddings) -> dict[str, Any]:
    """Score by level; training images of the same classes vote and teach."""
    if model.run.results.exists():
        content: dict[str, Any] = json.loads(model.run.results.read_text())
        return content
    voters = _embed(model, "train", max_images=VOTERS)
    scores = evaluate(
        test, load_hierarchy("shapes"), train=voters, cluster_counts=CLUSTERS
    ).to_dict()
    write_json(model.run.results, scores)
    return scores


def _table(title: str, caption: str, columns: Sequence[str]) -> Table:
    """Start a table that fits 80 columns."""
    table = Table(title=title, caption=caption, box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.title_justify = table.caption_justify = "left"
    table.add_column("")
    for column in columns:
        table.add_column(column, justify="right")
    return table


def _structure_table(tests: Sequence[Embeddings]) -> Table:
    table = _table(
        "Similarity of the trees of two models: one saw these classes, one did not",
        f"{len(tests[0])} held-out images; halves: mean ± deviation over {HALF_SAMPLES} random "
        "halves of them, spread, not confidence",
        ("LCA Pearson", "Spearman", "Kendall", "coph. D1→P2", "D2→P1"),
    )
    for place, name in enumerate(METHODS.values()):
        first, second = tests[2 * place], tests[2 * place + 1]
        found = compare(first.vectors, second.vectors, half_samples=HALF_SAMPLES)
        spread = found.half_samples
        assert spread is not None
        halves = zip(spread.mean.values(), spread.deviation.values(), strict=True)
        table.add_row(name, *(f"{value:.3f}" for value in found.values()))
        table.add_row(
            "  halves",
            *(f"{mean:.3f} ±{f'{deviation:.3f}'.lstrip('0')}" for mean, deviation in halves),
            style="dim",
        )
    return table


def _level_table(models: Sequence[DemoModel], results: Sequence[dict[str, Any]]) -> Table:
    levels = list(results[0]["majority"])
    table = _table(
        "k-NN / linear probe accuracy in percent, by level of the class tree",
        "",
        [level.replace("level", "level ") for level in levels],
    )
    for model, scores in zip(models, results, strict=True):
        pairs = [(scores["knn"][level], scores["probe"][level]) for level in levels]
        table.add_row(model.name, *(f"{100 * a:.1f} / {100 * b:.1f}" for a, b in pairs))
    largest = [results[0]["majority"][level] for level in levels]
    table.add_row("largest group alone", *(f"{value:.1%}".rstrip("%") for value in largest))
    return table


def _commands(out: Path, models: Sequence[DemoModel]) -> list[str]:
    """List what the demo did as single commands, in their order."""
    folders = [str(model.run.folder) for model in models]
    lines = [model.command for model in models]
    options = ["--dataset", "shapes", "--classes", "first"]
    voters = [*options, "--split", "train", "--max-images", str(VOTERS)]
    for split, chosen in (("test", options), ("train", voters)):
        for model in models:
            words = ["embed", str(model.run.folder), *chosen, "--out", str(model.embeddings(split))]
            lines.append(shlex.join(["sag-vicreg", *words]))
    for first, second in zip(models[::2], models[1::2], strict=True):
        files = [str(model.embeddings("test")) for model in (first, second)]
        options = ["--half-samples", str(HALF_SAMPLES)]
        lines.append(shlex.join(["sag-vicreg", "compare", *files, *options]))
    counts = ",".join(map(str, CLUSTERS))
    lines += [
        shlex.join(["sag-vicreg", "evaluate", each, "--clusters", counts, "--probe-seeds", "1"])
        for each in folders
    ]
    page = str(out / "report.html")
    lines.append(shlex.join(["sag-vicreg", "report", str(out / "runs"), "--out", page]))
    return lines
