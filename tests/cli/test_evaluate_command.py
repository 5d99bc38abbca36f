"""``sag-vicreg evaluate``: tables, JSON, figures, run folders, and one-line refusals."""

import json
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from typer.testing import CliRunner

from sag_vicreg.artifacts import Embeddings, Run, write_embeddings, write_text
from sag_vicreg.cli import app
from sag_vicreg.errors import InputError
from sag_vicreg.evaluation import evaluate
from sag_vicreg.evaluation.inputs import open_inputs
from sag_vicreg.hierarchy import load_hierarchy
from sag_vicreg.recipes import load_recipe

TREE = load_hierarchy("shapes")
QUICK = ["--probe-seeds", "1", "--clusters", "10,20"]


def embedded(n: int, seed: int, noise: float) -> Embeddings:
    fixed, rng = np.random.default_rng(0), np.random.default_rng(seed)
    center = sum(
        fixed.standard_normal((len(TREE.names_at(level)), 8))[TREE.labels_at(level)] / level
        for level in range(1, TREE.n_levels + 1)
    )
    labels = np.arange(n) % len(TREE.classes)
    ids = np.array([f"{seed}/{row}" for row in range(n)])
    vectors = center[labels] + noise * rng.standard_normal((n, 8))
    return Embeddings(vectors.astype(np.float32), ids, np.array(TREE.classes)[labels])


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Test and training embeddings of a good and of a bad model, two seeds each."""
    monkeypatch.chdir(tmp_path)
    for name, noise, seed in (("good", 0.2, 1), ("bad", 0.9, 3)):
        for model in (0, 1):
            write_embeddings(tmp_path / f"{name}{model}.parquet", embedded(96, seed + model, noise))
        write_embeddings(tmp_path / f"{name}-train.parquet", embedded(192, seed + 100, noise))
    np.savez(tmp_path / "empty.npz", vectors=np.empty((0, 8)), labels=np.empty(0, dtype=int))
    return tmp_path


def run(*arguments: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, ["evaluate", *arguments])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.stdout, done.stderr


def write_run(folder: Path, method: str, seed: int, noise: float, *, train: bool = True) -> Path:
    recipe = load_recipe(f"shapes/{method}", scale="smoke", overrides=[f"seed={seed}"])
    write_text(Run(folder).recipe, recipe.to_yaml())
    embeddings = Run(folder).embeddings
    write_embeddings(embeddings / "shapes-test-all.parquet", embedded(96, seed, noise))
    if train:
        write_embeddings(embeddings / "shapes-train-all.parquet", embedded(192, seed + 50, noise))
    return folder


def test_one_file_prints_a_table_and_writes_what_python_computes(files: Path) -> None:
    arguments = ("good0.parquet", "--train", "good-train.parquet", "--hierarchy", "shapes", *QUICK)
    code, table, notes = run(*arguments, "--plot", "scores.svg")
    assert code == 0
    for words in ("level 4", "48 classes", "k-NN", "linear probe", "adjusted Rand", "RankMe"):
        assert words in table
    assert "Chance alone raises the plain Rand index" in table
    assert "wrote results.json" in notes
    assert (files / "scores.svg").read_text().count("raises it with the number of clusters") == 2
    expected = evaluate(
        embedded(96, 1, 0.2), TREE, train=embedded(192, 101, 0.2), cluster_counts=(10, 20)
    )
    written = json.loads((files / "results.json").read_text())
    assert written["hierarchy"] == "shapes"
    for measure, scores in json.loads(json.dumps(expected.to_dict())).items():
        assert written[measure] == scores
    assert json.loads(run(*arguments, "--json")[1]) == written


def test_without_training_set_or_hierarchy_there_is_less_but_no_error(files: Path) -> None:
    code, table, _ = run("good0.parquet", *QUICK)
    assert code == 0
    assert "level 1" in table
    assert "level 2" not in table
    assert "give --train" in " ".join(table.split())


def test_several_inputs_are_grouped_by_name_and_the_best_is_marked(files: Path) -> None:
    names = ("good=good0.parquet", "good=good1.parquet", "bad=bad0.parquet", "bad=bad1.parquet")
    trains = [f"{name}-train.parquet" for name in ("good", "good", "bad", "bad")]
    options = [part for train in trains for part in ("--train", train)]
    code, table, _ = run(*names, *options, "--hierarchy", "shapes", *QUICK, "--plot", "all.png")
    assert code == 0
    row = next(line for line in table.splitlines() if "good (2)" in line)
    assert row.count("*") == 4
    assert row.count("±") == 4
    groups = json.loads((files / "results.json").read_text())["groups"]
    assert [group["name"] for group in groups] == ["good", "bad"]
    inputs = json.loads((files / "results.json").read_text())["inputs"]
    good = [each["knn"]["level4"] for each in inputs if each["name"] == "good"]
    assert groups[0]["mean"]["knn.level4"] == pytest.approx(np.mean(good))
    assert groups[0]["deviation"]["knn.level4"] == pytest.approx(np.std(good, ddof=1))
    assert (files / "all.png").stat().st_size > 10_000


def test_a_run_brings_its_files_its_hierarchy_and_gets_its_results(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", "vicreg", 0, 0.3)
    code, table, _ = run(str(folder), *QUICK)
    assert code == 0
    assert "vicreg, hierarchy shapes" in table
    assert json.loads(Run(folder).results.read_text())["knn"]["level1"] > 0.5


def test_runs_are_seeds_of_one_model_where_only_the_seed_differs(tmp_path: Path) -> None:
    folders = [
        write_run(tmp_path / "a", "vicreg", 0, 0.3),
        write_run(tmp_path / "b", "vicreg", 1, 0.3),
        write_run(tmp_path / "c", "sag-vicreg", 0, 0.2),
    ]
    names = [each.name for each in open_inputs([str(folder) for folder in folders])]
    assert names == ["vicreg", "vicreg", "sag-vicreg"]
    recipe = load_recipe("shapes/vicreg", scale="smoke", overrides=["batch_size=32"])
    write_text(Run(folders[1]).recipe, recipe.to_yaml())
    names = [each.name for each in open_inputs([str(folder) for folder in folders])]
    assert names == [f"vicreg ({folders[0]})", f"vicreg ({folders[1]})", "sag-vicreg"]


def test_two_image_sets_of_one_model_are_no_seeds(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "a", "vicreg", 0, 0.3)
    files = [Run(folder).embedding_file("shapes", "test", each) for each in ("all", "first")]
    write_embeddings(files[1], embedded(96, 3, 0.3))
    names = [each.name for each in open_inputs([str(file) for file in files])]
    assert names == [f"vicreg ({file})" for file in files]
    with pytest.raises(InputError, match="named twice"):
        open_inputs([str(folder), str(folder)])


def test_what_is_no_seed_of_a_model_never_shares_its_name(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "a", "vicreg", 0, 0.3)
    file = tmp_path / "vicreg.parquet"
    write_embeddings(file, embedded(96, 3, 0.3))
    names = [each.name for each in open_inputs([str(folder), str(file)])]
    assert names == ["vicreg", str(file)]
    names = [each.name for each in open_inputs([str(folder), f"vicreg={file}"])]
    assert names == ["vicreg (runs)", "vicreg"]
    # Whoever says twice that it is one model is believed.
    names = [each.name for each in open_inputs([f"x={folder}", f"x={file}"])]
    assert names == ["x", "x"]


def test_a_file_of_a_run_brings_the_training_file_beside_it(tmp_path: Path) -> None:
    run = Run(write_run(tmp_path / "a", "vicreg", 0, 0.3))
    test, train = (run.embedding_file("shapes", s, "all") for s in ("test", "train"))
    assert [(each.test, each.train) for each in open_inputs([str(test)])] == [(test, train)]
    assert open_inputs([str(train)])[0].train is None


def test_a_mistake_names_the_file_and_comes_before_the_work(files: Path) -> None:
    vectors = np.random.default_rng(0).normal(size=(96, 4))
    vectors[7, 2] = np.nan
    write_embeddings(files / "nan.parquet", Embeddings(vectors, None, embedded(96, 0, 0.3).labels))
    assert "nan.parquet: vectors has NaN" in run("good0.parquet", "nan.parquet", *QUICK)[2]
    late = ("good0.parquet", "--train", "good-train.parquet", "--clusters", "4,9999")
    with patch("sag_vicreg.evaluation.overall.hierarchical_knn") as knn:
        assert "9999 clusters of 96 points" in run(*late)[2]
    knn.assert_not_called()


def test_a_write_that_was_killed_is_not_taken_for_embeddings(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "a", "vicreg", 0, 0.3)
    whole = Run(folder).embedding_file("shapes", "test", "all")
    whole.rename(Run(folder).embedding_file("shapes", "test", "first"))
    (Run(folder).embeddings / ".shapes-test-all-x1y2z3.parquet").touch()
    (found,) = open_inputs([str(folder)])
    assert found.test.name == "shapes-test-first.parquet"


def test_the_training_split_is_found_where_the_dataset_is_called_test(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "a", "vicreg", 0, 0.3)
    run = Run(folder)
    own = load_recipe("shapes/vicreg", overrides=["dataset.name=folder:my-test-set"])
    write_text(run.recipe, own.to_yaml())
    test, train = (run.embedding_file("folder:my-test-set", s, "all") for s in ("test", "train"))
    write_embeddings(test, embedded(96, 3, 0.3))
    write_embeddings(train, embedded(96, 4, 0.3))
    (found,) = open_inputs([str(folder)])
    assert (found.test, found.train) == (test, train)


def test_files_of_one_name_are_told_apart_by_folder(tmp_path: Path) -> None:
    for folder in ("x", "y"):
        write_embeddings(tmp_path / folder / "test.parquet", embedded(96, 0, 0.3))
    specs = [str(tmp_path / folder / "test.parquet") for folder in ("x", "y")]
    assert [each.name for each in open_inputs(specs)] == ["x/test", "y/test"]
    np.savez(tmp_path / "x" / "test.npz", vectors=np.eye(4))
    specs[1] = str(tmp_path / "x" / "test.npz")
    assert [each.name for each in open_inputs(specs)] == ["test.parquet", "test.npz"]


def test_labels_that_count_to_millions_are_names_like_others(tmp_path: Path) -> None:
    source = embedded(96, 0, 0.3)
    numbers = np.arange(96) % 4 * 2_500_000
    write_embeddings(tmp_path / "e.parquet", Embeddings(source.vectors, source.ids, numbers))
    code, table, _ = run(str(tmp_path / "e.parquet"), *QUICK, "--out", str(tmp_path / "r.json"))
    assert code == 0
    assert "4 classes" in table


def test_json_without_a_run_leaves_no_file_behind(files: Path) -> None:
    assert run("good0.parquet", "--json", *QUICK)[0] == 0
    assert not (files / "results.json").exists()


def test_overlap_of_train_and_test_is_warned_of(files: Path) -> None:
    code, _, notes = run(
        "good0.parquet", "--train", "good0.parquet", "--hierarchy", "shapes", *QUICK
    )
    assert code == 0
    assert "TRAIN AND TEST OVERLAP: 96 of 96" in notes


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["good0.parquet", "--hierarchy", "cifar100"], "48 class name(s) not in the hierarchy"),
        (["good0.parquet", "--hierarchy", "shape"], "did you mean 'shapes'"),
        (["missing.parquet"], "no such file"),
        (["empty.npz"], "there are no rows"),
        (
            [
                *("good0.parquet", "--train", "good-train.parquet"),
                *("--vote", "weighted", "--temperature", "inf"),
            ],
            "temperature is inf",
        ),
        (["good0.parquet", "--k", "200", "--train", "good-train.parquet"], "k is 200"),
        (["good0.parquet", "--clusters", "97"], "97 clusters of 96 points"),
        (["good0.parquet", "--clusters", "many"], "--clusters is 'many'"),
        (["good0.parquet", "--plot", "scores.gif"], "cannot draw"),
        (["good0.parquet", "--out", "."], "it is a folder"),
        (["good0.parquet", "--plot", "good0.parquet/scores.png"], "cannot write"),
        (["good0.parquet", "good1.parquet", "--train", "good-train.parquet"], "1 --train for 2"),
        (["good0.parquet", "good1.parquet", "--view", "good1.parquet"], "--view belongs to one"),
        (["a="], "neither a path nor NAME=PATH"),
        (["."], "is not a run"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    files: Path, arguments: list[str], message: str
) -> None:
    code, _, error = run(*arguments)
    assert code == 2
    assert message in error
    assert error.count("\n") == 1
    assert not (files / "results.json").exists()


def test_a_run_without_test_embeddings_says_how_to_make_them(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", "vicreg", 0, 0.3, train=False)
    (Run(folder).embeddings / "shapes-test-all.parquet").unlink()
    code, _, error = run(str(folder))
    assert code == 2
    assert "sag-vicreg embed" in error
