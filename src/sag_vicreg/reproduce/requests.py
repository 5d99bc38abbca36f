"""What a user asks of `reproduce`: names and choices in, planned targets out."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any

from sag_vicreg.artifacts import Result
from sag_vicreg.errors import InputError, check_name
from sag_vicreg.recipes import METHOD_LABELS, SCALES
from sag_vicreg.recipes.yaml_text import parse_option
from sag_vicreg.reproduce.campaign import Target
from sag_vicreg.reproduce.declarations import DECLARATIONS, INVARIANCE, declaration
from sag_vicreg.reproduce.overhead import METHODS, measure_overhead
from sag_vicreg.reproduce.plan import Evaluation, evaluation, no_overrides
from sag_vicreg.reproduce.search import tuned_by
from sag_vicreg.reproduce.tables import Finished, Table, assemble

Planned = Mapping[tuple[str, str], Sequence[Evaluation]]
"""(setting, method) to its evaluations, one per seed."""
OVERHEAD = "overhead"
TARGETS = (*DECLARATIONS, OVERHEAD)


def parse_options(options: Sequence[str]) -> dict[str, Any]:
    """Read ``key=value`` options, values as YAML: numbers are numbers."""
    parsed = {}
    for option in options:
        key, equals, value = option.partition("=")
        if not equals or not key:
            raise InputError(f"cannot read the option '{option}': write key=value")
        parsed[key] = parse_option(value, f"the option '{option}'")
    return parsed


@dataclass(frozen=True)
class Choices:
    """The options of `reproduce`, as given."""

    scale: str = "cpu"
    datasets: Sequence[str] = ()
    pretrain: Sequence[str] = ()
    methods: Sequence[str] = ()
    seeds: int = 1
    images: str = "test"
    overrides: Sequence[str] = ()

    def __post_init__(self) -> None:
        check_name("scale", self.scale, SCALES)
        if self.seeds < 1:
            raise InputError(f"--seeds is {self.seeds}: at least one seed is needed")

    @property
    def label(self) -> str:
        """What tells the tables of these choices from those of others, as a part of a name."""
        images = [] if self.images == "test" else [self.images]
        parts = [self.scale, *self.datasets, *self.pretrain, *self.methods, *images]
        # What is only watched changes no number.
        changed = [each for each in self.overrides if not each.startswith("monitor.")]
        if changed:
            parts.append(hashlib.sha256("\n".join(changed).encode()).hexdigest()[:8])
        return "-".join(parts)


def plan_targets(
    names: Sequence[str], choices: Choices, results: Mapping[str, Result]
) -> list[Target]:
    """Plan each target once, so that what any cannot do is refused before the first is begun.

    At the CPU scale recipes take the learning rates that a search among ``results`` has chosen.
    """
    for name in names:
        check_name("table or figure", name, TARGETS)
    return [
        _overhead(choices) if name == OVERHEAD else request_table(name, choices, results)
        for name in names
    ]


def request_table(
    name: str, choices: Choices, results: Mapping[str, Result] | None = None
) -> Target:
    """Plan one table; at the CPU scale with the learning rates a finished search has chosen."""
    declared = declaration(name)
    settings = declared.choose(choices.datasets, choices.pretrain, choices.images)
    methods = declared.choose_methods(choices.methods)
    plan = partial(
        evaluation,
        declared.evaluation,
        scale=choices.scale,
        overrides=choices.overrides,
        tuned=tuned_by(results or {}) if choices.scale == "cpu" else no_overrides,
    )
    # Only where nothing was changed may the paper's numbers stand beside ours.
    unchanged = choices.scale == "paper" and not choices.overrides and choices.images == "test"
    planned: Planned = {
        (setting.name, method): [plan(setting, method, seed=n) for n in range(choices.seeds)]
        for setting in settings
        for method in methods
    }

    def tables(known: Mapping[str, Result]) -> list[Table]:
        finished = {
            place: [known[e.key] for e in evaluations if e.key in known]
            for place, evaluations in planned.items()
        }
        return [
            assemble(
                declared,
                settings,
                methods,
                finished,
                like_the_paper=unchanged,
                notes=_notes(planned, finished, choices.scale),
            )
        ]

    # Seed by seed, so that an unfinished table has whole seeds.
    every = sorted(chain.from_iterable(planned.values()), key=lambda each: each.seed)
    return Target(name, every, tables, choices.label)


def _notes(planned: Planned, finished: Finished, scale: str) -> list[str]:
    """Say what a reader must know: the scale and its rates, what failed, what is missing."""
    notes = [] if scale == "paper" else [f"Scale: {scale}, not the paper's."]
    if scale == "cpu":
        notes.append(f"Base learning rates: {_rates(planned)}.")
    known = [result for results in finished.values() for result in results]
    notes += [f"{r.method} seed {r.seed} stopped itself: {r.failure}." for r in known if r.failure]
    if len(known) < (total := sum(map(len, planned.values()))):
        notes.append(f"Unfinished: {total - len(known)} of {total} evaluations.")
    return notes


def _rates(planned: Planned) -> str:
    """Name the rates: at this scale a search may have chosen them."""
    rates: dict[str, list[str]] = {}
    for (_, method), evaluations in planned.items():
        rate = f"{evaluations[0].recipes[0].optimizer.base_lr:g}"
        rates.setdefault(METHOD_LABELS[method], []).append(rate)
    return ", ".join(f"{label} {' and '.join(dict.fromkeys(r))}" for label, r in rates.items())


def _overhead(choices: Choices) -> Target:
    # Ignored, choices that it could not follow would mislead.
    not_taken = {
        "--pretrain": choices.pretrain,
        "--images": choices.images != "test",
        "--set": choices.overrides,
    }
    for option in (option for option, given in not_taken.items() if given):
        raise InputError(
            f"{OVERHEAD} does not take {option} (only --scale, --dataset, --methods, --seeds): "
            "leave it out"
        )
    methods = choices.methods or METHODS
    for method in methods:
        check_name("method of overhead", method, INVARIANCE)
    datasets = choices.datasets or ["imagenet1k" if choices.scale == "paper" else "cifar100"]

    def tables(known: Mapping[str, Result]) -> list[Table]:
        return [
            measure_overhead(choices.scale, dataset, methods=methods, seeds=choices.seeds)
            for dataset in datasets
        ]

    # Each table has its dataset in its own name: there may be several.
    return Target(OVERHEAD, (), tables, replace(choices, datasets=()).label)
