"""What the replication found, as tables, from its results alone."""

from collections.abc import Mapping, Sequence

from replication.comparisons import (
    OURS,
    PLAIN,
    paired_differences,
)
from replication.stages import (
    ABLATIONS,
    DATASET,
    DEFAULT,
    METHODS,
    PAIR,
    STEPS,
    TREND_STEPS,
    UNCHANGED,
    ablation,
    by_level,
    halves,
)
from sag_vicreg.artifacts import Result
from sag_vicreg.recipes import METHOD_LABELS
from sag_vicreg.reproduce import (
    CRITERION,
    DECLARATIONS,
    FOREST_NOTE,
    FORESTS,
    Column,
    Evaluation,
    Overrides,
    Row,
    Table,
    assemble,
    average,
    chosen_rate,
    finished,
    of_method,
    rate_of,
    search_evaluations,
    tuned_by,
)
from sag_vicreg.scores import PAPERS_FIVE, Score, titles

ROWS = (*METHODS, DEFAULT)
Results = Mapping[str, Result]
Groups = Mapping[str, Sequence[Result]]
"""What a row of a table is called to its finished results, one per seed."""
PAPERS_SCORES = titles(PAPERS_FIVE, "short")
STRUCTURE_SCORES = {**FORESTS, **PAPERS_SCORES}
_MEASURES = (
    Column("knn", "k-NN, percent"),
    Column("rankme", "RankMe"),
    Column("nontrivial", "walks that leave, percent"),
)
_COLUMNS = tuple(Column(key, heading) for key, heading in STRUCTURE_SCORES.items())
_HALF_SAMPLE_COLUMNS = tuple(Column(key, heading) for key, heading in PAPERS_SCORES.items())


def search_table(results: Results) -> Table:
    """k-NN accuracy of every trial: a column per rate, and which one was chosen."""
    trials = finished(search_evaluations(DATASET, METHODS), results)
    rates = sorted({rate_of(trial) for trial in trials})
    rows = []
    for method in METHODS:
        mine = {rate_of(trial): trial for trial in of_method(trials, method)}
        scores = [
            Score(100 * mine[rate].scores[CRITERION], None, 1) if rate in mine else None
            for rate in rates
        ]
        chosen = chosen_rate(DATASET, method, results)
        label = METHOD_LABELS[method] + ("" if chosen is None else f" (chosen: {chosen:g})")
        rows.append(Row(method, label, tuple(scores)))
    return Table(
        "lr-search",
        "k-NN accuracy in percent among training images, by base learning rate",
        tuple(Column(f"{rate:g}", f"{rate:g}") for rate in rates),
        tuple(rows),
        percent=True,
        ranked=False,
    )


def declared_table(name: str, tuned: Overrides, results: Results) -> Table:
    """Build a table of the paper's from the replication's models, as far as they are."""
    declared = DECLARATIONS[name]
    done = finished(declared_evaluations(name, tuned), results)
    grouped = {(DATASET, method): of_method(done, method) for method in ROWS}
    return assemble(declared, declared.choose([DATASET]), ROWS, grouped)


def declared_evaluations(name: str, tuned: Overrides) -> list[Evaluation]:
    """Return the replication's evaluations behind a table of the paper's."""
    kind = DECLARATIONS[name].evaluation
    if kind == "structure":
        return halves(tuned, steps=STEPS, methods=ROWS)
    return by_level(tuned, kind, methods=ROWS)


def half_sample_tables(of: str, groups: Groups) -> list[Table]:
    """Each score over random halves of the images: its mean, then its deviation.

    Of the paper's scores; a forest is made of halves already. The mean is the steadier reading:
    where single trees are unstable it differs from the score of all images, and the deviation says
    by how much that can be.
    """
    means, deviations = [], []
    for label, done in groups.items():
        samples = [[result.half_samples[key] for result in done] for key in PAPERS_SCORES]
        mean = [Score.of([sample.mean for sample in each]) for each in samples]
        deviation = [Score.of([sample.deviation for sample in each]) for each in samples]
        means.append(Row(label, label, tuple(mean)))
        spreads = tuple(None if s is None else Score(s.mean, None, s.runs) for s in deviation)
        deviations.append(Row(label, label, spreads))
    return [
        Table(f"{of}-half-sample-{name}", title, _HALF_SAMPLE_COLUMNS, tuple(rows), ranked=False)
        for name, title, rows in (
            ("mean", "Mean of each score over ten seeded halves of the images", means),
            (
                "spread",
                "Half-sample spread: deviation of each score over the ten halves",
                deviations,
            ),
        )
    ]


def scores_table(name: str, title: str, groups: Groups) -> Table:
    """Average every structure score over the seeds of each group."""
    rows = [
        Row(label, label, tuple(average(done, key) for key in STRUCTURE_SCORES))
        for label, done in groups.items()
    ]
    return Table(name, title, _COLUMNS, tuple(rows), ranked=False, notes=(FOREST_NOTE,))


def trend_differences(tuned: Overrides, results: Results) -> dict[str, dict[int, Sequence[float]]]:
    """Literal SAG-VICReg minus VICReg: structure score to (steps to each seed's difference)."""
    found: dict[str, dict[int, Sequence[float]]] = {
        heading: {} for heading in STRUCTURE_SCORES.values()
    }
    for steps in TREND_STEPS:
        done = finished(halves(tuned, steps=steps), results)
        ours, plain = (of_method(done, method) for method in (OURS, PLAIN))
        for key, heading in STRUCTURE_SCORES.items():
            found[heading][steps] = paired_differences(ours, plain, key)
    return found


def trend_table(tuned: Overrides, results: Results) -> Table:
    """Literal SAG-VICReg minus VICReg in every score, by length of training."""
    differences = trend_differences(tuned, results)
    rows = tuple(
        Row(
            f"{steps}",
            f"{steps:,} steps",
            tuple(Score.of(by_steps[steps]) for by_steps in differences.values()),
        )
        for steps in TREND_STEPS
    )
    return Table(
        "trend",
        "Literal SAG-VICReg minus VICReg, paired by seed",
        _COLUMNS,
        rows,
        ranked=False,
        notes=(FOREST_NOTE,),
    )


def ablation_tables(tuned: Overrides, results: Results) -> list[Table]:
    """SAG-VICReg with one factor changed at a time: its scores, then what the change did.

    Seeds differ too, so the change is taken seed by seed. VICReg, which never
    walks, is the last row.
    """
    done = {factor: finished(ablation(tuned, factor), results) for factor in ABLATIONS}
    done["VICReg"] = finished(halves(tuned, steps=STEPS, methods=["vicreg"]), results)
    unchanged = done.pop(UNCHANGED)
    changes = []
    for name, mine in done.items():
        differences = [paired_differences(mine, unchanged, key) for key in STRUCTURE_SCORES]
        changes.append(Row(name, name, tuple(map(Score.of, differences))))
    groups = {UNCHANGED: unchanged, **done}
    return [
        scores_table("ablation", "One factor changed at a time", groups),
        Table(
            "ablation-change",
            f"The same minus the {UNCHANGED}, paired by seed",
            _COLUMNS,
            tuple(changes),
            ranked=False,
            notes=(FOREST_NOTE,),
        ),
        *half_sample_tables("ablation", groups),
    ]


def trend_tables(tuned: Overrides, results: Results) -> list[Table]:
    """SAG-VICReg against VICReg by length of training: the difference, then both by themselves."""
    groups = {
        f"{METHOD_LABELS[method]}, {steps:,} steps": done
        for steps in TREND_STEPS
        for method in PAIR
        if (done := finished(halves(tuned, steps=steps, methods=[method]), results))
    }
    return [
        trend_table(tuned, results),
        scores_table("trend-scores", "The scores behind the differences", groups),
        *half_sample_tables("trend", groups),
    ]


def measures_table(tuned: Overrides, results: Results) -> Table:
    """Tell what the trees do not: nearest neighbours and rank of the models behind them."""
    groups = {
        f"{METHOD_LABELS[method]}, {STEPS:,} steps": halves(tuned, steps=STEPS, methods=[method])
        for method in ROWS
    }
    for factor in ABLATIONS:
        if factor != UNCHANGED:
            groups[f"SAG-VICReg, {factor}, {STEPS:,} steps"] = ablation(tuned, factor)
    for steps in TREND_STEPS[1:]:
        for method in PAIR:
            label = f"{METHOD_LABELS[method]}, {steps:,} steps"
            groups[label] = halves(tuned, steps=steps, methods=[method])
    rows = []
    for label, evaluations in groups.items():
        measured = [result.measures for result in finished(evaluations, results)]
        scores = tuple(_measured(measured, column.key) for column in _MEASURES)
        if any(scores):
            rows.append(Row(label, label, scores))
    return Table(
        "measures",
        "Measured at the end of training, mean of the two models of a seed",
        _MEASURES,
        tuple(rows),
        percent=True,
        ranked=False,
    )


def _measured(seeds: Sequence[Sequence[Mapping[str, float]]], key: str) -> Score | None:
    """Average a measure over the models of each seed, then over seeds; shares in percent."""
    unit = 1 if key == "rankme" else 100
    known = [models for models in seeds if models and all(key in model for model in models)]
    return Score.of([unit * sum(m[key] for m in models) / len(models) for models in known])


def stage_tables(stage: str, results: Results) -> list[Table]:
    """Return the tables a stage is run for."""
    tuned = tuned_by(results)
    if stage == "lr-search":
        return [search_table(results)]
    if stage == "ablation":
        return ablation_tables(tuned, results)
    if stage.startswith("trend"):
        return trend_tables(tuned, results)
    names = {
        "halves": ("table1", "table2"),
        "levels": ("table4", "table5", "fig4a", "fig4b"),
        "default": ("table1", "table2", "table4", "table5"),
    }[stage]
    tables = [declared_table(name, tuned, results) for name in names]
    if stage == "halves":
        done = finished(declared_evaluations("table1", tuned), results)
        groups = {METHOD_LABELS[method]: of_method(done, method) for method in ROWS}
        tables += half_sample_tables("halves", groups)
    return tables
