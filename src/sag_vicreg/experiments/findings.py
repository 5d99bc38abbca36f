"""What the replication found, from its results alone: tables, differences, sentences."""

from collections.abc import Mapping, Sequence

from sag_vicreg.experiments.assemble import assemble
from sag_vicreg.experiments.declarations import (
    DECLARATIONS,
    INVARIANCE,
    METHOD_LABELS,
)
from sag_vicreg.experiments.paper import paper_row
from sag_vicreg.experiments.plan import Evaluation, Overrides
from sag_vicreg.experiments.replication import (
    ABLATIONS,
    DATASET,
    STEPS,
    TREND_STEPS,
    ablation,
    by_level,
    halves,
)
from sag_vicreg.experiments.results import Result, average
from sag_vicreg.experiments.search import CRITERION, chosen_rate, rate_of, search_evaluations
from sag_vicreg.experiments.tables import Column, Row, Score, Table

Results = Mapping[str, Result]
STRUCTURE_SCORES = {
    key: f"{group} {heading}"
    for name, group in (("table1", "LCA"), ("table2", "cophenetic"))
    for key, heading in DECLARATIONS[name].scores.items()
}
_COLUMNS = tuple(Column(key, heading) for key, heading in STRUCTURE_SCORES.items())


def finished(evaluations: Sequence[Evaluation], results: Results) -> list[Result]:
    """Return the results there are, without those whose training stopped itself."""
    known = [results[e.key] for e in evaluations if e.key in results]
    return [result for result in known if result.failure is None]


def of_method(results: Sequence[Result], method: str) -> list[Result]:
    """Return one method's results."""
    return [result for result in results if result.method == method]


def search_table(results: Results) -> Table:
    """k-NN accuracy of every trial: a column a rate, the chosen one best in its row."""
    trials = finished(search_evaluations(DATASET), results)
    rates = sorted({rate_of(trial) for trial in trials})
    rows = []
    for method in INVARIANCE:
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
    grouped = {(DATASET, method): of_method(done, method) for method in declared.methods}
    return assemble(declared, declared.choose([DATASET]), declared.methods, grouped)


def declared_evaluations(name: str, tuned: Overrides) -> list[Evaluation]:
    """Return the replication's evaluations behind a table of the paper's."""
    kind = DECLARATIONS[name].evaluation
    if kind == "structure":
        return halves(tuned, steps=STEPS, methods=INVARIANCE)
    return by_level(tuned, kind)


def paper_tables(tuned: Overrides, results: Results) -> list[Table]:
    """Tables 1, 2, 4 and 5 and the Rand figures, those of which anything is finished."""
    return [
        declared_table(name, tuned, results)
        for name in ("table1", "table2", "table4", "table5", "fig4a", "fig4b")
        if finished(declared_evaluations(name, tuned), results)
    ]


def half_sample_tables(evaluations: Sequence[Evaluation], results: Results) -> list[Table]:
    """Each score over random halves of the images: its mean, then its deviation.

    The mean is the steadier reading: where single trees are unstable it differs from the score of
    all images, and the deviation says by how much that can be.
    """
    done = finished(evaluations, results)
    means, deviations = [], []
    for method in INVARIANCE:
        samples = [
            [result.half_samples[key] for result in of_method(done, method)]
            for key in STRUCTURE_SCORES
        ]
        mean = [Score.of([sample.mean for sample in each]) for each in samples]
        deviation = [Score.of([sample.deviation for sample in each]) for each in samples]
        means.append(Row(method, METHOD_LABELS[method], tuple(mean)))
        deviations.append(
            Row(
                method,
                METHOD_LABELS[method],
                tuple(None if s is None else Score(s.mean, None, s.runs) for s in deviation),
            )
        )
    return [
        Table("half-sample-" + name, title, _COLUMNS, tuple(rows), ranked=False)
        for name, title, rows in (
            ("mean", "Mean of each score over ten seeded halves of the images", means),
            (
                "spread",
                "Half-sample spread: deviation of each score over the ten halves",
                deviations,
            ),
        )
    ]


def paired_differences(
    evaluations: Sequence[Evaluation], results: Results, score: str
) -> list[float]:
    """SAG-VICReg minus VICReg, seed by seed, where both are finished."""
    done = finished(evaluations, results)
    plain = {result.seed: result for result in of_method(done, "vicreg")}
    ours = {result.seed: result for result in of_method(done, "sag-vicreg")}
    return [
        ours[seed].scores[score] - plain[seed].scores[score] for seed in sorted(plain.keys() & ours)
    ]


def trend_differences(tuned: Overrides, results: Results) -> dict[str, dict[int, list[float]]]:
    """SAG-VICReg minus VICReg: score to (steps to each seed's difference)."""
    planned = {steps: halves(tuned, steps=steps) for steps in TREND_STEPS}
    return {
        heading: {
            steps: paired_differences(evaluations, results, key)
            for steps, evaluations in planned.items()
        }
        for key, heading in STRUCTURE_SCORES.items()
    }


def trend_table(tuned: Overrides, results: Results) -> Table:
    """SAG-VICReg minus VICReg in every score, by length of training."""
    differences = trend_differences(tuned, results)
    rows = tuple(
        Row(
            f"{steps}",
            f"{steps:,} steps",
            tuple(Score.of(by_steps[steps]) for by_steps in differences.values()),
        )
        for steps in TREND_STEPS
    )
    return Table("trend", "SAG-VICReg minus VICReg, paired by seed", _COLUMNS, rows, ranked=False)


def ablation_table(tuned: Overrides, results: Results) -> Table:
    """SAG-VICReg with one factor changed at a time."""
    rows = []
    for factor in ABLATIONS:
        done = finished(ablation(tuned, factor), results)
        rows.append(Row(factor, factor, tuple(average(done, key) for key in STRUCTURE_SCORES)))
    return Table(
        "ablation", "SAG-VICReg, one factor changed at a time", _COLUMNS, tuple(rows), ranked=False
    )


def verdicts(tuned: Overrides, results: Results) -> list[str]:
    """One sentence a score and length of training: our difference, its seeds, the paper's sign."""
    differences = trend_differences(tuned, results)
    lines = []
    for steps in TREND_STEPS:
        for key, heading in STRUCTURE_SCORES.items():
            values = differences[heading][steps]
            score = Score.of(values)
            if score is None:
                continue
            paper = _paper_difference(key)
            same_sign = sum(value * score.mean > 0 for value in values)
            if same_sign < len(values):
                verdict = "undecided: the seeds differ in sign"
            else:
                verdict = "agrees in sign" if score.mean * paper > 0 else "disagrees in sign"
            lines.append(
                f"{steps:,} steps, {heading}: {score.mean:+.3f}, the same sign in {same_sign} of "
                f"{len(values)} seeds; the paper's difference is {paper:+.3f} ({verdict})."
            )
    return lines


def _paper_difference(key: str) -> float:
    for name in ("table1", "table2"):
        keys = list(DECLARATIONS[name].scores)
        if key in keys:
            ours, plain = (paper_row(name, DATASET, m) for m in ("sag-vicreg", "vicreg"))
            assert ours is not None
            assert plain is not None
            return ours[keys.index(key)].mean - plain[keys.index(key)].mean
    raise KeyError(key)
