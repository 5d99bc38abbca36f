"""`reproduce` as a whole: targets in, grid run, tables printed and kept, page rewritten."""

from collections.abc import Callable, Sequence
from typing import Any

import yaml

from sag_vicreg.artifacts import write_text
from sag_vicreg.errors import InputError, require_train_extra, unknown_name
from sag_vicreg.experiments.estimate import expected_seconds, seconds_of, steps_of
from sag_vicreg.experiments.formats import SUFFIXES, render
from sag_vicreg.experiments.grid import EVALUATION_SECONDS, Workers, outline, run_grid
from sag_vicreg.experiments.overhead import measure_overhead
from sag_vicreg.experiments.plan import Evaluation, model_label
from sag_vicreg.experiments.replication import DATASET, STAGES, stage_tables, update_page
from sag_vicreg.experiments.requests import TABLES, Choices, request_table
from sag_vicreg.experiments.search import require_search, tuned_by
from sag_vicreg.experiments.store import Store
from sag_vicreg.experiments.tables import Table

REPLICATION = "replication"
SEARCH = "lr-search"
OVERHEAD = "overhead"


def parse_options(options: Sequence[str]) -> dict[str, Any]:
    """Read ``key=value`` options, values as YAML: numbers are numbers."""
    parsed = {}
    for option in options:
        key, equals, value = option.partition("=")
        if not equals or not key:
            raise InputError(f"cannot read the option '{option}': write key=value")
        parsed[key] = yaml.safe_load(value)
    return parsed


class Reproduction:
    """Targets of `reproduce`, over one store and one set of choices."""

    def __init__(
        self,
        store: Store,
        workers: Workers,
        choices: Choices,
        *,
        echo: Callable[[str], None] = print,
        style: str = "markdown",
    ) -> None:
        if style not in SUFFIXES:
            raise unknown_name("format", style, SUFFIXES)
        self.style = style
        self.store = store
        self.workers = workers
        self.choices = choices
        self.echo = echo

    def targets(self, names: Sequence[str]) -> list[str]:
        """Check the names and spell ``replication`` out."""
        valid = [*TABLES, OVERHEAD, *STAGES, REPLICATION]
        for name in names:
            if name not in valid:
                raise unknown_name("table or figure", name, valid)
        return [stage for name in names for stage in (STAGES if name == REPLICATION else [name])]

    def evaluations(self, target: str) -> list[Evaluation]:
        """Plan a target, given what is known by now (a search decides what follows it)."""
        results = self.store.results()
        if target in STAGES:
            return STAGES[target].evaluations(tuned_by(results))
        return request_table(target, self.choices, results).evaluations

    def tables(self, target: str) -> list[Table]:
        """Assemble a target's tables from what is finished."""
        results = self.store.results()
        if target not in STAGES:
            return [request_table(target, self.choices, results).table(results)]
        return stage_tables(target, results)

    def reproduce(self, names: Sequence[str], *, run: bool = True, publish: bool = False) -> bool:
        """Do what is missing, print and keep the tables; say whether everything is finished."""
        complete = True
        for target in self.targets(names):
            if target == OVERHEAD:
                tables = self._overhead() if run else []
            else:
                if run:
                    self._run(target)
                left = len(outline(self.evaluations(target), self.store).to_evaluate)
                complete = complete and left == 0
                tables = self.tables(target)
            for table in tables:
                self._keep(table)
                self.echo(render(table, self.style))
            if publish:
                self._publish()
        return complete

    def _overhead(self) -> list[Table]:
        scale = self.choices.scale
        datasets = self.choices.datasets or ["imagenet1k" if scale == "paper" else "cifar100"]
        return [measure_overhead(scale, dataset) for dataset in datasets]

    def _run(self, target: str) -> None:
        if target in STAGES and target != SEARCH:
            require_search(DATASET, self.store.results())
        evaluations = self.evaluations(target)
        todo = outline(evaluations, self.store)
        if not todo.to_evaluate:
            return
        require_train_extra("reproduce")
        self._check_data(todo.to_evaluate)
        run_grid(
            evaluations,
            self.store,
            self.workers,
            seconds_of=lambda recipe: expected_seconds(recipe, self.store),
            steps_of=steps_of,
            note=self.echo,
        )

    def _check_data(self, evaluations: Sequence[Evaluation]) -> None:
        """Refuse a missing dataset before anything is trained."""
        from sag_vicreg.data import load_dataset

        needed = {recipe.dataset.name for e in evaluations for recipe in e.recipes}
        for name in sorted(needed | {e.images.dataset for e in evaluations}):
            load_dataset(name, split="test", max_images=1)

    def estimate(self, names: Sequence[str]) -> None:
        """Print every model that would be trained, its size, and a measured estimate of time."""
        require_train_extra("reproduce --dry-run")
        total = 0.0
        for target in self.targets(names):
            if target == OVERHEAD:
                continue
            todo = outline(self.evaluations(target), self.store)
            self.echo(
                f"{target}: {len(todo.evaluations)} evaluations, {len(todo.done)} done; "
                f"{len(todo.to_train)} models to train, {len(todo.trained)} trained"
            )
            for recipe in todo.to_train:
                seconds = seconds_of(recipe, self.store)
                steps = steps_of(recipe)
                left = seconds * (1 - min(self.store.steps_done(recipe) / steps, 1))
                total += left
                self.echo(
                    f"  {model_label(recipe)}: {recipe.backbone.name}, {steps:,} steps of "
                    f"{recipe.batch_size}, {seconds / steps:.3f} s a step, {_duration(left)}"
                )
            total += len(todo.to_evaluate) * EVALUATION_SECONDS
        self.echo(
            f"estimated time with {self.workers.jobs} at once: about "
            f"{_duration(total / self.workers.jobs)}"
        )

    def _keep(self, table: Table) -> None:
        for style, suffix in SUFFIXES.items():
            write_text(self.store.root / "tables" / f"{table.name}{suffix}", render(table, style))

    def _publish(self) -> None:
        """Copy finished results of the replication beside its page and rewrite the page."""
        (folder,) = self.store.published
        results = self.store.results()
        tuned = tuned_by(results)
        wanted = {e.key for stage in STAGES.values() for e in stage.evaluations(tuned)}
        for key, result in results.items():
            if key in wanted and not (folder / result.file_name).is_file():
                result.write(folder)
        update_page(folder.parent.with_suffix(".md"), self.store.results())
        self.echo(f"published to {folder}")


def _duration(seconds: float) -> str:
    minutes = seconds / 60
    if minutes < 1:
        return f"{seconds:.0f} s"
    return f"{minutes:.0f} min" if minutes < 90 else f"{minutes / 60:.1f} h"
