"""Tables: the paper's numbers, averages over seeds, standing, gains, and golden renderings."""

import csv
import io
import os
from pathlib import Path

import pytest

from sag_vicreg.artifacts import Result, read_result, read_results
from sag_vicreg.errors import InputError
from sag_vicreg.reproduce import (
    DECLARATIONS,
    Column,
    Row,
    Score,
    Table,
    assemble,
    average,
    declaration,
    paper_numbers,
    render,
)
from sag_vicreg.reproduce.overhead import overhead_table

GOLDEN = Path(__file__).parent / "golden"


def make_result(
    method: str = "vicreg",
    *,
    seed: int = 0,
    family: str = "f",
    scores: dict[str, float] | None = None,
) -> Result:
    return Result(
        kind="structure",
        key=f"{family}{method}{seed}".ljust(16, "0"),
        family=family,
        method=method,
        seed=seed,
        images={"dataset": "shapes"},
        options={},
        models=[],
        n_images=10,
        scores=scores or {"lca.pearson": 0.1 * seed},
        half_samples={},
        seconds={"train": 1.0, "evaluate": 1.0},
        versions={},
        measures=[],
    )


def table_of_the_papers_numbers(name: str) -> Table:
    """The paper's own means, as if they were ours, over two seeds a known distance apart."""
    declared = declaration(name)
    settings = [s for key, s in declared.settings.items() if key in paper_numbers().get(name, {})]
    settings = settings or declared.choose()
    finished = {}
    for setting in settings:
        for place, method in enumerate(declared.methods):
            printed = paper_numbers().get(name, {}).get(setting.name, {}).get(method)
            means = [s.mean for s in printed] if printed else [0.5 + 0.01 * place] * 99
            unit = 100 if declared.percent else 1
            finished[setting.name, method] = [
                make_result(
                    method,
                    seed=seed,
                    family=f"{setting.name}-{method}",
                    scores={
                        key: mean / unit + 0.01 * (seed - 0.5)
                        for key, mean in zip(declared.scores, means, strict=False)
                    }
                    # Of a forest the paper prints nothing, and the last seed has none.
                    | {key: 0.7 + 0.02 * place for key in declared.beside if seed == 0},
                )
                for seed in (0, 1)
            ]
    return assemble(declared, settings, declared.methods, finished, like_the_paper=True)


def check_golden(rendered: str, name: str) -> None:
    path = GOLDEN / name
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(rendered, encoding="utf-8")
    assert rendered == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("style", ["markdown", "csv", "latex"])
@pytest.mark.parametrize("name", list(DECLARATIONS))
def test_each_table_against_its_golden_file(name: str, style: str) -> None:
    suffix = {"markdown": "md", "csv": "csv", "latex": "tex"}[style]
    rendered = render(table_of_the_papers_numbers(name), style)
    check_golden(rendered, f"{name}.{suffix}")


@pytest.mark.parametrize("style", ["markdown", "csv", "latex"])
def test_the_overhead_table_against_its_golden_file(style: str) -> None:
    suffix = {"markdown": "md", "csv": "csv", "latex": "tex"}[style]
    turns = {
        "vicreg": [(0.55, 24_000.0), (0.56, 24_100.0), (9.9, 24_050.0)],
        "sag-vicreg": [(0.57, 24_200.0), (0.58, 24_300.0), (0.59, 24_250.0)],
    }
    table = overhead_table(turns, scale="paper", dataset="imagenet1k", steps_per_epoch=5004)
    assert table.gain(0) == pytest.approx(100 * (0.58 / 0.56 - 1))
    check_golden(render(table, style), f"overhead.{suffix}")


def papers_columns(name: str, table: Table) -> list[int]:
    """The places of the paper's own scores, without what stands beside them."""
    ours = declaration(name).beside
    return [place for place, column in enumerate(table.columns) if column.key not in ours]


# Columns in which the paper's printed gain is not what its printed means give.
GAINS_THAT_DIFFER = {
    ("table1", "imagenet100"): [1, 2],
    ("table1", "cifar100"): [1],
    ("table1", "caltech256"): [0],
    ("table2", "imagenet100"): [1],
    ("table2", "cifar100"): [0],
    ("table2", "caltech256"): [0],
}


@pytest.mark.parametrize("name", ["table1", "table2"])
def test_gains_are_the_papers_except_where_its_own_numbers_disagree(name: str) -> None:
    table = table_of_the_papers_numbers(name)
    of_the_paper = iter(papers_columns(name, table))
    for setting, rows in paper_numbers()[name].items():
        for index, printed in enumerate(rows["gain"]):
            gain = table.gain(next(of_the_paper))
            assert gain is not None
            agrees = abs(gain - printed.mean) < 0.05
            assert agrees == (index not in GAINS_THAT_DIFFER.get((name, setting), [])), (
                setting,
                index,
                gain,
            )


@pytest.mark.parametrize(
    ("name", "setting", "best"),
    [
        ("table1", "cifar100", ["sag-vicreg"] * 3),
        ("table2", "imagenet100", ["sag-vicreg", "simclr"]),
        ("table3", "cifar100", ["i-jepa", "sag-vicreg-vit", "sag-vicreg-vit"]),
        ("table4", "imagenet1k", ["sag-vicreg", "sag-vicreg", "barlow-twins", "vicreg"]),
        ("table5", "imagenet1k", ["sag-vicreg", "sag-vicreg", "vicreg", "vicreg"]),
    ],
)
def test_the_best_are_those_the_paper_prints_in_bold(
    name: str, setting: str, best: list[str]
) -> None:
    table = table_of_the_papers_numbers(name)
    heading = declaration(name).settings[setting].heading
    columns = [i for i in papers_columns(name, table) if table.columns[i].group == heading]
    assert [table.standing(i)[0] for i in columns] == best


def test_standing_and_gain_of_unfinished_columns() -> None:
    columns = (Column("a", "A"), Column("b", "B"), Column("c", "C"))
    rows = (
        Row("vicreg", "VICReg", (Score(0.2), None, Score(-0.1))),
        Row("sag-vicreg", "SAG-VICReg", (Score(0.1), Score(0.3), Score(0.2))),
    )
    table = Table("t", "T", columns, rows)
    assert table.standing(0) == ("vicreg", "sag-vicreg")
    assert table.standing(1) == (None, None)
    assert table.gain(0) == pytest.approx(-50)
    assert table.gain(1) is None
    assert table.gain(2) is None
    assert "| VICReg | **0.200** | — |" in render(table, "markdown")


def test_average_over_seeds_is_mean_and_sample_deviation() -> None:
    score = average([make_result(seed=s) for s in (0, 1, 2)], "lca.pearson")
    assert score == Score(pytest.approx(0.1), pytest.approx(0.1), 3)
    assert average([], "lca.pearson") is None
    single = average([make_result(seed=2)], "lca.pearson")
    assert single is not None
    assert single.deviation is None


def test_a_result_without_a_forest_is_left_out_of_its_average() -> None:
    with_forest = make_result(seed=1).with_forest({"forest.spearman": 0.8}, {"trees": 100})
    results = [make_result(seed=0), with_forest]
    assert average(results, "forest.spearman") == Score(0.8, None, 1)
    assert average(results[:1], "forest.spearman") is None
    assert average(results, "lca.pearson").runs == 2  # type: ignore[union-attr]
    # Any other score that is missing is a mistake, not an older result.
    with pytest.raises(KeyError):
        average(results, "lca.kendall")


def test_forests_of_different_settings_are_never_averaged() -> None:
    results = [
        make_result(seed=seed).with_forest({"forest.spearman": 0.8}, {"trees": trees})
        for seed, trees in enumerate((100, 200))
    ]
    with pytest.raises(InputError, match="different settings"):
        average(results, "forest.spearman")


def test_another_forest_takes_the_place_of_the_first_and_leaves_the_rest() -> None:
    plain = make_result(seed=1)
    first = plain.with_forest({"forest.spearman": 0.8, "forest.low": 0.7}, {"trees": 100})
    second = first.with_forest({"forest.spearman": 0.6}, {"trees": 200})
    assert second.scores == {**plain.scores, "forest.spearman": 0.6}
    assert second.options == {"forest": {"trees": 200}}
    assert second.key == plain.key
    assert second.forest_scores == {"forest.spearman": 0.6}


def test_results_of_mixed_recipes_are_never_averaged() -> None:
    mixed = [make_result(seed=0), make_result(seed=1, family="another")]
    with pytest.raises(InputError, match="2 different recipes"):
        average(mixed, "lca.pearson")
    with pytest.raises(InputError, match="same seed twice"):
        average([make_result(), make_result()], "lca.pearson")


def test_seeds_that_differ_are_counted_cell_by_cell() -> None:
    rows = (
        Row("vicreg", "VICReg", (Score(0.2, 0.01, 3),)),
        Row("sag-vicreg", "SAG-VICReg", (Score(0.3, None, 1),)),
    )
    text = render(Table("t", "T", (Column("a", "A"),), rows), "markdown")
    assert "<u>0.200 ± 0.010 [3]</u>" in text
    assert "**0.300 [1]**" in text


def test_csv_keeps_full_precision_and_reads_back() -> None:
    table = table_of_the_papers_numbers("table1")
    lines = list(csv.DictReader(io.StringIO(render(table, "csv"))))
    assert len(lines) == 4 * (9 + 6)
    assert [line["score"] for line in lines[:3]] == [
        *("forest.spearman", "forest.pearson", "lca.pearson"),
    ]
    assert (lines[0]["runs"], lines[0]["paper_mean"]) == ("1", "")
    first = lines[2]
    assert first["method"] == "simclr"
    assert float(first["mean"]) == table.rows[0].scores[2].mean  # type: ignore[union-attr]
    assert float(first["paper_deviation"]) == 0.04


def test_results_survive_their_files(tmp_path: Path) -> None:
    result = make_result(seed=3)
    path = result.write(tmp_path)
    assert read_result(path) == result
    assert read_results([tmp_path, tmp_path / "missing"]) == {result.key: result}


def test_a_foreign_json_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('{"scores": {}}')
    with pytest.raises(InputError, match=r"x\.json is not a result"):
        read_results([tmp_path])


def test_choosing_settings_and_methods() -> None:
    table1 = declaration("table1")
    assert [s.name for s in table1.choose()] == ["cifar100"]
    (setting,) = table1.choose(["shapes"], images="train")
    assert setting.images.split == "train"
    assert [t.classes for t in setting.trained_on] == ["first", "second"]
    assert table1.choose_methods(["sag-vicreg", "simclr"]) == ("simclr", "sag-vicreg")
    (setting,) = declaration("table4").choose(pretrain=["imagenet1k"])
    assert (setting.trained_on[0].dataset, setting.images.dataset) == ("imagenet1k", "cifar100")
    (setting,) = declaration("table3").choose()
    assert [t.dataset for t in setting.trained_on] == ["cifar100", "caltech256"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: declaration("tabel1"), "did you mean 'table1'.*fig4b"),
        (lambda: declaration("table1").choose(["mnist"]), "unknown dataset for table1 'mnist'"),
        (lambda: declaration("table1").choose(pretrain=["cifar100"]), "use --dataset"),
        (lambda: declaration("table1").choose(images="val"), "test, train"),
        (lambda: declaration("table4").choose(images="train"), "belongs to table1"),
        (lambda: declaration("table1").choose_methods(["dino"]), "unknown method for table1"),
        (
            lambda: declaration("table4").choose(["shapes"], ["imagenet1k"]),
            "evaluated on cifar100, not on shapes",
        ),
    ],
)
def test_bad_choices_are_one_line(call, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InputError, match=message):
        call()
