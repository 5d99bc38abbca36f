"""Charts of training, of what the walk pairs, and of a reproduction's scores."""

from pathlib import Path

import numpy as np
import pytest

from made_pages import text_of
from made_runs import write_run
from sag_vicreg.artifacts import Run, write_json
from sag_vicreg.report.charts import score_charts, training_charts, walk_charts
from sag_vicreg.report.lines import score_lines
from sag_vicreg.report.sources import open_sources

pytestmark = pytest.mark.usefixtures("quick_maps")


def test_a_reproduction_is_averaged_over_seeds(tmp_path: Path) -> None:
    for seed, pearson in enumerate((0.2, 0.3, 0.4)):
        write_json(
            tmp_path / "results" / f"seed{seed}.json",
            {
                "kind": "structure",
                "key": f"k{seed}",
                "family": "f",
                "method": "sag-vicreg",
                "seed": seed,
                "images": {"dataset": "cifar100"},
                "options": {},
                "models": [],
                "n_images": 100,
                "seconds": {},
                "versions": {},
                "measures": [],
                "scores": {"lca.pearson": pearson, "rand.level1": 0.5, "rand.clusters20": 0.9},
                "half_samples": {},
            },
        )
    write_json(tmp_path / "results" / "other.json", {"unrelated": 1})
    lines = score_lines([], open_sources([tmp_path / "results"]).results).lines
    assert [line.name for line in lines] == ["SAG-VICReg"]
    assert lines[0].scores["lca.pearson"] == pytest.approx(0.3)
    assert lines[0].deviations["lca.pearson"] == pytest.approx(0.1)
    assert [chart.title for chart in score_charts(lines)] == [
        "Rand index",
        "Rand index by number of clusters",
    ]
    page = text_of(tmp_path / "results")
    assert "0.300</td>" in page.replace(" <small>± 0.100</small>", "")
    assert "SAG-VICReg, reproduced" in page


def test_long_training_is_thinned_to_averages(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", "sag-vicreg", "all", steps=3000, images=False)
    model = open_sources([run]).models[0]
    charts = {chart.title: chart for chart in training_charts([model])}
    assert set(charts) >= {"Loss", "Invariance", "Variance", "Covariance", "Non-trivial pairs"}
    loss = charts["Loss"].series[0]
    assert len(loss.y) == 400
    assert np.mean(loss.y) == pytest.approx(model.metrics["loss"].mean(), rel=1e-3)


def test_runs_that_log_other_quantities_share_the_charts_they_can(tmp_path: Path) -> None:
    """SimCLR has no invariance term: beside a run of VICReg it once ended the report."""
    folders = [write_run(tmp_path / name, "vicreg", "all", images=False) for name in "ab"]
    log = Run(folders[1]).metrics
    log.write_text(log.read_text().replace("invariance", "contrast"))
    charts = {chart.title: chart for chart in training_charts(open_sources(folders).models)}
    assert len(charts["Loss"].series) == 2
    assert [series.style for series in charts["Invariance"].series] == [0]
    assert [series.style for series in charts["contrast"].series] == [1]


def test_what_the_walk_pairs_has_a_chart_per_run_that_walks(tmp_path: Path) -> None:
    folders = [write_run(tmp_path / method, method, "all") for method in ("vicreg", "sag-vicreg")]
    assert "What the walk pairs" not in text_of(*folders)
    log = Run(folders[1]).metrics
    header, *lines = log.read_text().splitlines()
    header += ",own_view_nearest,own_view_near,pair_weight,same_class_level1,same_class_level2"
    lines = [
        f"{line},0.5,0.9,0.7,{'' if step < 20 else 0.4},0.2" for step, line in enumerate(lines)
    ]
    log.write_text("\n".join([header, *lines]) + "\n")
    models = open_sources(folders).models
    (chart,) = walk_charts(models)
    assert (chart.title, chart.percent) == ("SAG-VICReg", True)
    names = [series.name for series in chart.series]
    assert names == [
        "walks to another image",
        "own view is the nearest",
        "own view is among the k nearest",
        "mean weight of a pair",
        "partner of the same group, level 1",
        "partner of the same group, level 2",
    ]
    assert len(chart.series[4].x) == 20, "before the walk there is no partner"
    # Each is drawn once; the share that walks also beside other runs'.
    titles = [each.title for each in training_charts(models)]
    assert titles.count("Non-trivial pairs") == 1
    assert not any("own view" in title or "same class" in title for title in titles)
    page = text_of(*folders)
    assert "What the walk pairs" in page
    assert "own view is the nearest" in page
