"""Scores by line: one per run, one per recipe of a reproduction, averaged over its seeds."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean, mode
from typing import Any, TypeVar

from sag_vicreg.artifacts import Result
from sag_vicreg.recipes.method_sections import WalkSettings
from sag_vicreg.report.sources import Model, method_label, method_place
from sag_vicreg.report.tables import ScoreRow
from sag_vicreg.scores import Spread, averages, is_forest

T = TypeVar("T")

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
class ScoreLines:
    """All lines, and a sentence on what their names leave unsaid."""

    lines: tuple[ScoreRow, ...]
    common: str


def score_lines(models: Sequence[Model], results: Sequence[Result]) -> ScoreLines:
    """Scores of each model, none where it has no ``results.json``, and of a reproduction's recipes.

    The place of a line is its look in charts, so that a model has the same one everywhere.
    """
    lines = [
        ScoreRow(model.name, {})
        if model.results is None
        else ScoreRow(model.name, model.results.scores, model.results.deviations)
        for model in models
    ]
    families = _grouped(results, lambda result: result.family)
    named, common = _named([_Family(members) for members in families.values()])
    lines += [_averaged(name, members) for name, members in named.items()]
    unsaid = f"Unless a name says otherwise: {', '.join(common)}." if common else ""
    return ScoreLines(tuple(lines), unsaid)


def _grouped(members: Iterable[T], key: Callable[[T], str]) -> dict[str, list[T]]:
    """Put together what has one key, in the order in which keys first occur."""
    groups: dict[str, list[T]] = {}
    for member in members:
        groups.setdefault(key(member), []).append(member)
    return groups


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

    def comparable(self, result: Result) -> Mapping[str, float]:
        """Return a seed's scores, forests among them where those of all seeds were grown alike."""
        settings = [each.options.get("forest") for each in self.results]
        if all(each == settings[0] for each in settings):
            return result.scores
        return {key: value for key, value in result.scores.items() if not is_forest(key)}

    @cached_property
    def recipe(self) -> dict[str, str]:
        """What was trained, described by dotted key; where two models differ, both values."""
        flat = [_without_news(_leaves(recipe)) for recipe in self.first.models]
        left_out = tuple(f"{section}." for section in NO_RECIPE)
        kept = (key for key in _union(flat) if not f"{key}.".startswith(left_out))
        return {key: _describe(key, *(leaves.get(key) for leaves in flat)) for key in kept}

    @cached_property
    def setting(self) -> dict[str, str]:
        """How it was evaluated, described by dotted key."""
        trained_on = [r.get("dataset", {}).get("classes") for r in self.first.models]
        leaves = _leaves({"images": self.first.images, "options": self.first.options})
        described = {key: _describe(key, value) for key, value in leaves.items()}
        return described | {"dataset.classes": _describe("trained on", *trained_on)}


def _averaged(name: str, families: Sequence[_Family]) -> ScoreRow:
    """Put families on one line, with means over seeds, and how far seeds and halves move them."""
    scores: dict[str, float] = {}
    deviations: dict[str, float] = {}
    halves: dict[str, Spread] = {}
    for family in families:
        means = averages([family.comparable(result) for result in family.results])
        scores |= {key: score.mean for key, score in means.items()}
        deviations |= {k: s.deviation for k, s in means.items() if s.deviation is not None}
        drawn = [result.half_samples for result in family.results]
        halves |= {
            key: Spread(
                fmean(each[key].mean for each in drawn),
                fmean(each[key].deviation for each in drawn),
            )
            for key in means
            if all(key in each for each in drawn)
        }
    return ScoreRow(name, scores, deviations, halves)


def _named(families: Sequence[_Family]) -> tuple[dict[str, list[_Family]], list[str]]:
    """Name families by their method and by where they leave the most common recipe.

    Families of one name share a line: structure and levels of one recipe are two of them. The
    second value says what is common.
    """
    several = len({f.first.images.get("dataset") for f in families}) > 1
    bases = {
        f: f"{f.method}, {f.first.images.get('dataset')}" if several else f.method for f in families
    }
    rivals = _grouped(families, bases.__getitem__)
    telling = _union([_differing([f.recipe for f in members]) for members in rivals.values()])
    # Over all methods that have the key, set or not: unsaid is the same in every row of a table.
    common = {
        key: mode(
            family.recipe.get(key)
            for members in rivals.values()
            if any(key in each.recipe for each in members)
            for family in members
        )
        for key in telling
    }
    marks = {
        f: {k: f.recipe[k] for k in telling if k in f.recipe and f.recipe[k] != common[k]}
        for f in families
    }

    def place(family: _Family) -> tuple[Any, ...]:
        # What may be compared stands together; the shorter of two numbers is the smaller.
        own = [(telling.index(key), len(mark), mark) for key, mark in marks[family].items()]
        return len(own), own, method_place(family.method), bases[family]

    by_recipe = _grouped(
        sorted(families, key=place), lambda f: ", ".join([bases[f], *marks[f].values()])
    )
    names = {
        family: _unshared(name, family, members)
        for name, members in by_recipe.items()
        for family in members
    }
    unsaid = [text for text in common.values() if text is not None]
    return _grouped(names, names.__getitem__), unsaid


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


def _leaves(content: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Flatten to dotted keys; null is the absence of a setting."""
    found: dict[str, Any] = {}
    for key, value in content.items():
        if isinstance(value, Mapping):
            found |= _leaves(value, f"{prefix}{key}.")
        elif value is not None:
            found[f"{prefix}{key}"] = value
    return found


def _without_news(leaves: dict[str, Any]) -> dict[str, Any]:
    """Leave out what other results do not mention because there was, or is, no other way."""
    newer = {name: WalkSettings.model_fields[name].default for name in WalkSettings.newer}
    defaults = {f"method.{k}": v for k, v in (newer | WalkSettings.rejected).items()}
    return {k: v for k, v in leaves.items() if k not in defaults or v != defaults[k]}


def _describe(key: str, *values: Any) -> str:
    text = " / ".join(dict.fromkeys(_text(value) for value in values if value is not None))
    last = key.rpartition(".")[2]
    phrase = "{}" if last == "name" else f"{last.replace('_', ' ')} {{}}"
    return PHRASES.get(key, phrase).format(text)


def _text(value: Any) -> str:
    if isinstance(value, list):
        return "-".join(map(_text, value))
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, float):
        return f"{value:.12g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
