"""What a user asks of `reproduce`: targets and choices in, evaluations and tables out."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sag_vicreg.artifacts import Result
from sag_vicreg.errors import InputError, unknown_name
from sag_vicreg.experiments.assemble import assemble
from sag_vicreg.experiments.declarations import (
    DECLARATIONS,
    Declaration,
    Setting,
    declaration,
)
from sag_vicreg.experiments.plan import Evaluation, evaluations_of, no_overrides
from sag_vicreg.experiments.search import tuned_by
from sag_vicreg.experiments.tables import Table
from sag_vicreg.recipes import METHOD_LABELS, SCALES

_OPTIONS = {
    "scale": "--scale",
    "datasets": "--dataset",
    "pretrain": "--pretrain",
    "methods": "--methods",
    "seeds": "--seeds",
    "images": "--images",
    "overrides": "--set",
}


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
        if self.scale not in SCALES:
            raise unknown_name("scale", self.scale, SCALES)
        if self.seeds < 1:
            raise InputError(f"--seeds is {self.seeds}: at least one seed is needed")

    def refuse_all_but(self, taken: Sequence[str], target: str) -> None:
        """Refuse choices that ``target`` could not follow: ignored, they would mislead."""
        plain = Choices()
        for name, option in _OPTIONS.items():
            if name not in taken and getattr(self, name) != getattr(plain, name):
                rest = (
                    f"only {', '.join(_OPTIONS[each] for each in taken)}"
                    if taken
                    else "it is fixed"
                )
                raise InputError(f"{target} does not take {option} ({rest}): leave it out")

    @property
    def label(self) -> str:
        """What tells the tables of these choices from those of others, as a part of a name."""
        parts = [self.scale, *self.datasets, *self.pretrain, *self.methods]
        parts += [self.images] if self.images != "test" else []
        # What is only watched changes no number.
        changed = [each for each in self.overrides if not each.startswith("monitor.")]
        if changed:
            parts.append(hashlib.sha256("\n".join(changed).encode()).hexdigest()[:8])
        return "-".join(parts)


@dataclass(frozen=True)
class TableRequest:
    """One table, its settings and methods chosen, its evaluations planned."""

    declared: Declaration
    settings: Sequence[Setting]
    methods: Sequence[str]
    planned: Mapping[tuple[str, str], Sequence[Evaluation]]
    scale: str
    as_published: bool

    @property
    def evaluations(self) -> list[Evaluation]:
        """Every evaluation, seed by seed, so that an unfinished table has whole seeds."""
        every = [e for evaluations in self.planned.values() for e in evaluations]
        return sorted(every, key=lambda e: e.seed)

    def _rates(self) -> str:
        """Name the rates: at this scale a search may have chosen them."""
        rates: dict[str, dict[str, str]] = {}
        for (setting, method), planned in self.planned.items():
            rate = f"{planned[0].recipes[0].optimizer.base_lr:g}"
            rates.setdefault(METHOD_LABELS[method], {})[setting] = rate
        return ", ".join(
            f"{label} {' and '.join(dict.fromkeys(by_setting.values()))}"
            for label, by_setting in rates.items()
        )

    def table(self, results: Mapping[str, Result]) -> Table:
        """Assemble from what is finished; notes name what is not."""
        finished = {
            place: [results[e.key] for e in evaluations if e.key in results]
            for place, evaluations in self.planned.items()
        }
        missing = [e for e in self.evaluations if e.key not in results]
        notes = [] if self.scale == "paper" else [f"Scale: {self.scale}, not the paper's."]
        if self.scale == "cpu":
            notes.append(f"Base learning rates: {self._rates()}.")
        failed = [r for rs in finished.values() for r in rs if r.failure is not None]
        notes += [f"{r.method} seed {r.seed} stopped itself: {r.failure}." for r in failed]
        if missing:
            notes.append(f"Unfinished: {len(missing)} of {len(self.evaluations)} evaluations.")
        return assemble(
            self.declared,
            self.settings,
            self.methods,
            finished,
            like_the_paper=self.as_published,
            notes=notes,
        )


def request_table(
    name: str, choices: Choices, results: Mapping[str, Result] | None = None
) -> TableRequest:
    """Plan a table; at the CPU scale with the learning rates a finished search has chosen."""
    declared = declaration(name)
    settings = declared.choose(choices.datasets, choices.pretrain, choices.images)
    methods = declared.choose_methods(choices.methods)
    planned = evaluations_of(
        declared,
        settings,
        methods,
        scale=choices.scale,
        seeds=range(choices.seeds),
        overrides=choices.overrides,
        tuned=tuned_by(results or {}) if choices.scale == "cpu" else no_overrides,
    )
    # The paper's numbers stand beside ours only where nothing was changed.
    as_published = choices.scale == "paper" and not choices.overrides and choices.images == "test"
    return TableRequest(declared, settings, methods, planned, choices.scale, as_published)


TABLES = tuple(DECLARATIONS)
