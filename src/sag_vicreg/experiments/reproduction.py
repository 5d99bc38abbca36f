"""`reproduce` as a whole: targets in, grid run, tables printed and kept, page rewritten."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sag_vicreg.artifacts import check_writable, write_text
from sag_vicreg.errors import InputError, require_train_extra, unknown_name
from sag_vicreg.experiments.estimate import expected_seconds, seconds_of, steps_of
from sag_vicreg.experiments.formats import SUFFIXES, render
from sag_vicreg.experiments.grid import EVALUATION_SECONDS, Workers, outline, run_grid
from sag_vicreg.experiments.overhead import METHODS, check_methods, measure_overhead
from sag_vicreg.experiments.plan import Evaluation, model_label
from sag_vicreg.experiments.replication import (
    DATASET,
    STAGES,
    read_page,
    stage_tables,
    update_page,
)
from sag_vicreg.experiments.requests import TABLES, Choices, request_table
from sag_vicreg.experiments.search import require_search, tuned_by
from sag_vicreg.experiments.store import Store
from sag_vicreg.experiments.tables import Table
from sag_vicreg.recipes.yaml_text import parse_yaml

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
        parsed[key] = parse_yaml(value, f"the option '{option}'")
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
            # A stage is fixed: what it is made of is what makes its results comparable.
            self.choices.refuse_all_but((), target)
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
        targets = self.targets(names)
        self._refuse_early(targets, publish=publish)
        complete = True
        for target in targets:
            if target == OVERHEAD:
                tables = self._overhead() if run else []
            else:
                if run:
                    self._run(target)
                left = len(outline(self.evaluations(target), self.store).to_evaluate)
                complete = complete and left == 0
                tables = self.tables(target)
            for table in tables:
                self._keep(target, table)
                self.echo(render(table, self.style))
            if publish:
                self._publish()
        return complete

    def _refuse_early(self, targets: Sequence[str], *, publish: bool) -> None:
        """Find what is wrong with any target before the first is worked on for hours."""
        for target in targets:
            if target == OVERHEAD:
                self.choices.refuse_all_but(("scale", "datasets", "methods", "seeds"), target)
                check_methods(self.choices.methods)
            else:
                self.evaluations(target)
        if publish:
            read_page(self._page)
        check_writable(self.store.root / "workers.log")

    def _overhead(self) -> list[Table]:
        scale, methods, seeds = self.choices.scale, self.choices.methods, self.choices.seeds
        datasets = self.choices.datasets or ["imagenet1k" if scale == "paper" else "cifar100"]
        return [
            measure_overhead(scale, dataset, methods=methods or METHODS, seeds=seeds)
            for dataset in datasets
        ]

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
            seconds_of=lambda recipe: expected_seconds(recipe, self.store, self.workers.threads),
            steps_of=steps_of,
            note=self.echo,
        )

    def _check_data(self, evaluations: Sequence[Evaluation]) -> None:
        """Refuse a missing dataset before anything is trained."""
        from sag_vicreg.data import check_dataset

        needed = {recipe.dataset.name for e in evaluations for recipe in e.recipes}
        for name in sorted(needed | {e.images.dataset for e in evaluations}):
            check_dataset(name)

    def estimate(self, names: Sequence[str]) -> None:
        """Print every model that would be trained, its size, and a measured estimate of time."""
        require_train_extra("reproduce --dry-run")
        total = 0.0
        # Tables share models and evaluations: each is counted where it is first needed.
        counted: set[str] = set()
        targets = self.targets(names)
        self._refuse_early(targets, publish=False)
        for target in targets:
            if target == OVERHEAD:
                self.echo("overhead: a few steps of each method in turns; no estimate")
                continue
            todo = outline(self.evaluations(target), self.store)
            self.echo(
                f"{target}: {len(todo.evaluations)} evaluations, {len(todo.done)} done; "
                f"{len(todo.to_train)} models to train, {len(todo.trained)} trained"
            )
            for recipe in todo.to_train:
                if recipe.digest() in counted:
                    continue
                counted.add(recipe.digest())
                seconds = seconds_of(recipe, self.store, self.workers.threads)
                steps = steps_of(recipe)
                left = seconds * (1 - min(self.store.steps_done(recipe) / steps, 1))
                total += left
                self.echo(
                    f"  {model_label(recipe)}: {recipe.backbone.name}, {steps:,} steps of "
                    f"{recipe.batch_size}, {seconds / steps:.3f} s a step, {_duration(left)}"
                )
            new = {evaluation.key for evaluation in todo.to_evaluate} - counted
            counted |= new
            total += len(new) * EVALUATION_SECONDS
        if set(targets) == {OVERHEAD}:
            return
        self.echo(
            f"estimated time with {self.workers.jobs} at once: about "
            f"{_duration(total / self.workers.jobs)}"
        )

    def _keep(self, target: str, table: Table) -> None:
        """Write the table in every format; a rehearsal does not overwrite the real thing."""
        # An overhead table has its dataset in its own name: there may be several.
        choices = replace(self.choices, datasets=()) if target == OVERHEAD else self.choices
        name = table.name if target in STAGES else f"{table.name}-{choices.label}"
        for style, suffix in SUFFIXES.items():
            write_text(self.store.root / "tables" / f"{name}{suffix}", render(table, style))

    @property
    def _page(self) -> Path:
        """Where the page of the published results is: beside their folder, by its name."""
        (folder,) = self.store.published
        return folder.parent.with_suffix(".md")

    def _publish(self) -> None:
        """Copy finished results of the replication beside its page and rewrite the page."""
        (folder,) = self.store.published
        results = self.store.results()
        tuned = tuned_by(results)
        wanted = {e.key for stage in STAGES.values() for e in stage.evaluations(tuned)}
        for key, result in results.items():
            if key in wanted and not (folder / result.file_name).is_file():
                result.write(folder)
        update_page(self._page, self.store.results())
        self.echo(f"published to {folder}")


def _duration(seconds: float) -> str:
    minutes = seconds / 60
    if minutes < 1:
        return f"{seconds:.0f} s"
    return f"{minutes:.0f} min" if minutes < 90 else f"{minutes / 60:.1f} h"
