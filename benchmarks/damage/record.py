"""Every score of every damaged set, measured once and kept as JSON."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.damage.data import Sample, hierarchy, pixels, samples
from benchmarks.damage.measures import Undamaged
from benchmarks.damage.planted import Damaged, damaged_sets, truth
from benchmarks.damage.rule import Trial, measure_distances
from sag_vicreg.artifacts import write_json
from sag_vicreg.progress import track

RULE_SEEDS = range(100, 110)
RULE_ROWS = 600


@dataclass(frozen=True)
class Row:
    """The scores of one damaged set.

    ``scores`` holds the five measures and ``shared``, the forest's plain score; ``scales`` the
    agreement on the closest shares of pairs, where it is shown.
    """

    data: str
    kind: str
    level: str
    seed: int
    truth: float | None
    scores: dict[str, float]
    scales: dict[str, float] | None


@dataclass(frozen=True)
class Record:
    """All rows of the panels, and all trials of the forest's distances."""

    rows: tuple[Row, ...]
    trials: tuple[Trial, ...]

    def write(self, path: Path) -> None:
        """Write the record as JSON, scores to five digits."""
        write_json(path, _rounded(asdict(self)))


def read_record(path: Path) -> Record:
    """Read what :meth:`Record.write` wrote."""
    content = json.loads(path.read_text(encoding="utf-8"))
    return Record(
        tuple(Row(**row) for row in content["rows"]),
        tuple(Trial(**trial) for trial in content["trials"]),
    )


def measure() -> Record:
    """Plant all the damage and score it, in about a quarter of an hour on one core."""
    return Record(
        tuple(row for sample in samples() for row in measure_sample(sample)),
        tuple(
            trial
            for seed in track(list(RULE_SEEDS), "distances")
            for trial in measure_distances(hierarchy(RULE_ROWS, seed), seed)
        ),
    )


def measure_sample(sample: Sample) -> list[Row]:
    """Score every damaged version of one set."""
    undamaged = Undamaged(sample.x)
    tasks = [(seed, each) for seed in sample.seeds for each in _all_sets(sample, seed)]
    same_for_all_seeds: dict[tuple[str, str], dict[str, float]] = {}
    rows = []
    for seed, each in track(tasks, sample.data):
        vectors = each.make()
        forest = undamaged.forest(vectors, seed, scales=_by_scale(each))
        others = same_for_all_seeds.get((each.kind, each.level)) or undamaged.others(vectors)
        if not each.random:
            same_for_all_seeds[each.kind, each.level] = others
        known = (
            truth(sample.paths, each.paths())
            if sample.paths is not None and each.paths is not None
            else None
        )
        scores = {"forest": forest.corrected, "shared": forest.shared} | others
        rows.append(Row(sample.data, each.kind, each.level, seed, known, scores, forest.scales))
    return rows


def _all_sets(sample: Sample, seed: int) -> Sequence[Damaged]:
    sets = list(damaged_sets(sample, seed))
    if sample.data == "digits":
        sets += [
            Damaged("nothing", "", lambda: sample.x, random=False),
            Damaged("raw pixels", "", pixels, random=False),
        ]
    return sets


def _by_scale(each: Damaged) -> bool:
    return each.kind == "small clusters" or (each.kind, each.level) == ("noise", "50 %")


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(each) for each in value]
    return round(value, 5) if isinstance(value, float) else value
