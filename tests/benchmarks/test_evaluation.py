"""The evaluation benchmark on small sets: what it compares agrees, and it says what it compared."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from benchmarks import evaluation as bench
from benchmarks.commands import app
from sag_vicreg.evaluation import hierarchical_knn
from sag_vicreg.hierarchy import load_hierarchy

TREE = load_hierarchy("cifar100")


@pytest.mark.filterwarnings("ignore:Graph is not fully connected")
def test_scikit_learn_agrees_and_everything_is_reported(tmp_path) -> None:
    out = tmp_path / "evaluation.json"
    sizes = ["--points", "1000", "--queries", "200", "--rand-points", "500", "--repeats", "1"]
    result = CliRunner().invoke(app, ["evaluation", *sizes, "--out", str(out)])
    assert result.exit_code == 0, result.output
    found = json.loads(out.read_text())
    assert [row[0].split(",")[0] for row in found["rows"]] == ["k-NN", "linear probe", "Rand index"]
    assert all(float(row[1]) >= 0 and float(row[2]) > 0 for row in found["rows"])
    measured = {target["what"]: target["measured"] for target in found["targets"]}
    assert len(measured) == 6
    assert measured["k-NN, predictions that differ without a tie"] == 0
    assert measured["Rand index, largest difference"] < 0.02


def test_a_wrong_prediction_is_counted(monkeypatch) -> None:
    def wrong(*sets, k):
        scores = hierarchical_knn(*sets, k=k)
        scores.predictions[0, :7] += 1
        return scores

    train, test = (bench.embeddings(n, seed=n, tree=TREE) for n in (1000, 100))
    monkeypatch.setattr(bench, "hierarchical_knn", wrong)
    _, targets = bench.measure_knn(train, test, TREE, repeats=1)
    unequal = next(target for target in targets if "differ" in target.what)
    assert unequal.measured == 7
    assert not unequal.met


def test_made_embeddings_share_their_classes_but_not_their_points() -> None:
    a, b = (bench.embeddings(4000, seed=seed, tree=TREE) for seed in (1, 2))
    assert a.vectors.shape == (4000, bench.DIMENSIONS)
    assert not np.allclose(a.vectors[0], b.vectors[0])
    scores = hierarchical_knn(a.vectors, a.labels, b.vectors, b.labels, TREE).accuracy
    assert 0.05 < scores[3] < scores[0] < 0.95
