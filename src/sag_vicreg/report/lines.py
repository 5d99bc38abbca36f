"""Scores by line: one a run, one a recipe of a reproduction, averaged over its seeds."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from sag_vicreg.artifacts import Result, Spread
from sag_vicreg.report.sources import Model, method_label, method_place

# What does not change the trained weights, and what kinds of evaluation differ in by design:
# structure is of models of either half of the classes, levels are of a model of all.
NO_RECIPE = ("name", "scale", "seed", "monitor", "versions", "dataset.classes")
# Elsewhere the last part of the key and the value say enough: "k 3", "base lr 0.4".
PHRASES = {
    "batch_size": "batch {}",
    "schedule.steps": "{} steps",
    "schedule.epochs": "{} epochs",
    "dataset.seed": "subset seed {}",
}


@dataclass(frozen=True)
class ScoreLine:
    """One model's or recipe's scores by flat key, with the spread where there is one."""

    name: str
    style: int
    scores: Mapping[str, float]
    spreads: Mapping[str, float] = field(default_factory=dict)
    """Deviation over seeds."""
    halves: Mapping[str, Spread] = field(default_factory=dict)
    """Random halves of the images, where there is one seed."""


@dataclass(frozen=True)
class ScoreLines:
    """All lines, and a sentence on what their names leave unsaid."""

    lines: tuple[ScoreLine, ...]
    common: str


def score_lines(models: Sequence[Model], results: Sequence[Result]) -> ScoreLines:
    """Scores of runs' ``results.json``, and of a reproduction averaged over seeds."""
    lines = [
        ScoreLine(model.name, style, flatten(model.results), _probe_spreads(model.results))
        for style, model in enumerate(models)
        if model.results is not None
    ]
    families: dict[str, list[Result]] = defaultdict(list)
    for result in results:
        families[result.family].append(result)
    named, common = _named([_Family(found) for found in families.values()])
    for style, (name, members) in enumerate(named.items(), start=len(models)):
        line = ScoreLine(name, style, {}, {}, {})
        for family in members:
            line = family.added_to(line)
        lines.append(line)
    unsaid = f"Unless a name says otherwise: {', '.join(common)}." if common else ""
    return ScoreLines(tuple(lines), unsaid)


@dataclass(frozen=True, eq=False)
class _Family:
    """Results that differ in nothing but the seed."""

    results: Sequence[Result]

    @property
    def first(self) -> Result:
        return self.results[0]

    @property
    def method(self) -> str:
        return method_label(self.first.method)

    @cached_property
    def keys(self) -> frozenset[str]:
        """The scores every seed has."""
        return frozenset.intersection(*(frozenset(r.scores) for r in self.results))

    @cached_property
    def recipe(self) -> dict[str, str]:
        """What was trained, described by dotted key; where two models differ, both values."""
        flat = [_leaves(recipe) for recipe in self.first.models]
        kept = (key for key in _union(flat) if not _is_below(key, NO_RECIPE))
        return {key: _describe(key, *(leaves.get(key) for leaves in flat)) for key in kept}

    @cached_property
    def setting(self) -> dict[str, str]:
        """How it was evaluated, described by dotted key."""
        trained_on = [r.get("dataset", {}).get("classes") for r in self.first.models]
        leaves = _leaves({"images": self.first.images, "options": self.first.options})
        described = {key: _describe(key, value) for key, value in leaves.items()}
        return described | {"dataset.classes": _describe("trained on", *trained_on)}

    def added_to(self, line: ScoreLine) -> ScoreLine:
        """Return the line with this family's means, and their spread over seeds or halves."""
        values = {key: [r.scores[key] for r in self.results] for key in sorted(self.keys)}
        several = len(self.results) > 1
        spreads = {k: float(np.std(v, ddof=1)) for k, v in values.items()} if several else {}
        halves = (
            {} if several else {k: v for k, v in self.first.half_samples.items() if k in values}
        )
        return ScoreLine(
            line.name,
            line.style,
            {**line.scores, **{key: float(np.mean(v)) for key, v in values.items()}},
            {**line.spreads, **spreads},
            {**line.halves, **halves},
        )


def _named(families: Sequence[_Family]) -> tuple[dict[str, list[_Family]], list[str]]:
    """Name families by their method and by where they leave the most common recipe.

    Families of one name share a line: structure and levels of one recipe are two of them. The
    second value says what is common.
    """
    several = len({f.first.images.get("dataset") for f in families}) > 1
    bases = {
        f: f"{f.method}, {f.first.images.get('dataset')}" if several else f.method for f in families
    }
    rivals: dict[str, list[_Family]] = defaultdict(list)
    for family, base in bases.items():
        rivals[base].append(family)
    telling = _union([_differing([f.recipe for f in members]) for members in rivals.values()])
    # Over all methods that have the key, set or not: unsaid is the same in every row of a table.
    common: dict[str, str | None] = {}
    for key in telling:
        having = [each for each in rivals.values() if any(key in f.recipe for f in each)]
        counted = Counter(f.recipe.get(key) for members in having for f in members)
        common[key] = counted.most_common(1)[0][0]
    marks = {
        f: {k: f.recipe[k] for k in telling if k in f.recipe and f.recipe[k] != common[k]}
        for f in families
    }

    def place(family: _Family) -> tuple[Any, ...]:
        # What may be compared stands together; the shorter of two numbers is the smaller.
        own = [(telling.index(key), len(mark), mark) for key, mark in marks[family].items()]
        return len(own), own, method_place(family.method), bases[family]

    by_name: dict[str, list[_Family]] = defaultdict(list)
    for family in sorted(families, key=place):
        by_name[", ".join([bases[family], *marks[family].values()])].append(family)
    named: dict[str, list[_Family]] = defaultdict(list)
    for name, members in by_name.items():
        for family in members:
            named[_unshared(name, family, members)].append(family)
    return named, [text for text in common.values() if text is not None]


def _unshared(name: str, family: _Family, members: Sequence[_Family]) -> str:
    """Add how it was evaluated where another family of the recipe has the same scores."""
    rivals = [other for other in members if other is family or other.keys & family.keys]
    differing = _differing([rival.setting for rival in rivals])
    own = [family.setting[key] for key in differing if key in family.setting]
    if sum(rival.setting == family.setting for rival in rivals) > 1:
        # Files of another version may differ in what they do not say: only the address tells.
        own.append(family.first.family[:6])
    return ", ".join([name, *own])


def _differing(mappings: Sequence[Mapping[str, str]]) -> list[str]:
    return [key for key in _union(mappings) if len({m.get(key) for m in mappings}) > 1]


def _union(collections: Iterable[Iterable[str]]) -> list[str]:
    return list(dict.fromkeys(key for keys in collections for key in keys))


def _is_below(key: str, sections: Sequence[str]) -> bool:
    return any(key == section or key.startswith(f"{section}.") for section in sections)


def _leaves(content: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Flatten to dotted keys; null is the absence of a setting."""
    found: dict[str, Any] = {}
    for key, value in content.items():
        if isinstance(value, Mapping):
            found |= _leaves(value, f"{prefix}{key}.")
        elif value is not None:
            found[f"{prefix}{key}"] = value
    return found


def _describe(key: str, *values: Any) -> str:
    text = " / ".join(dict.fromkeys(_text(value) for value in values if value is not None))
    last = key.rpartition(".")[2]
    phrase = "{}" if last == "name" else f"{last.replace('_', ' ')} {{}}"
    return PHRASES.get(key, phrase).format(text)


def _text(value: Any) -> str:
    if isinstance(value, list):
        return "-".join(map(_text, value))
    if isinstance(value, float):
        return f"{value:.12g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _probe_spreads(results: Mapping[str, Any]) -> dict[str, float]:
    """Return the probe's deviation over its seeds, by level; nothing where it had one seed."""
    deviations = results.get("probe", {}).get("deviation") or ()
    return {f"probe.level{level}": value for level, value in enumerate(deviations, start=1)}


def flatten(results: Mapping[str, Any]) -> dict[str, float]:
    """Flatten nested results to dotted keys: ``lca.pearson``, ``knn.level1``."""
    flat: dict[str, float] = {}

    def visit(prefix: str, value: Any) -> None:
        if isinstance(value, Mapping):
            for key, inner in value.items():
                visit(f"{prefix}.{key}" if prefix else str(key), inner)
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            flat[prefix] = float(value)

    visit("", results)
    return flat
