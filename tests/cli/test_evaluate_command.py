"""``sag-vicreg evaluate``: tables, JSON, figures, run folders, and one-line refusals."""

import hashlib
import json
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from sag_vicreg.artifacts import (
    ColumnNames,
    Contents,
    Embeddings,
    Run,
    read_scores,
    write_embeddings,
    write_text,
)
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
    # Seeds below 50 are models, which embed the same images; the others are other images.
    ids = np.array([f"{'test' if seed < 50 else seed}/{row}" for row in range(n)])
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


def test_columns_are_told_for_every_file_that_is_read(files: Path) -> None:
    for name in ("good0", "good-train"):
        table = pq.read_table(f"{name}.parquet")
        renamed = table.rename_columns(["key", "class", "old"])
        pq.write_table(renamed.append_column("new", table["vector"]), f"other-{name}.parquet")
    said = ["--vector-columns", "old", "--id-column", "key", "--label-column", "class"]
    test = ["--train", "other-good-train.parquet", "--view", "other-good0.parquet"]
    arguments = ["--hierarchy", "shapes", "--json", *QUICK]
    code, _, err = run("other-good0.parquet", *test, *arguments)
    assert code == 2
    assert "vectors may be old or new: choose by --vector-column old" in err
    code, out, err = run("other-good0.parquet", *test, *said, *arguments)
    assert code == 0, err
    plain = ["good0.parquet", "--train", "good-train.parquet", "--view", "good0.parquet"]
    expected = json.loads(run(*plain, *arguments)[1])
    assert json.loads(out)["scores"] == expected["scores"]
    (found,) = open_inputs(["other-good0.parquet"], columns=[ColumnNames("old", "key", "class")])
    assert found.read()[0].labels is not None
    folder = write_run(files / "run", "vicreg", seed=1, noise=0.2)
    (found,) = open_inputs([str(folder)], columns=[ColumnNames("old", "key", "class")])
    assert len(found.read()[0]) == 96  # a run's own files need no telling


def write_run(folder: Path, method: str, seed: int, noise: float, *, train: bool = True) -> Path:
    recipe = load_recipe(f"shapes/{method}", scale="smoke", overrides=[f"seed={seed}"])
    write_text(Run(folder).recipe, recipe.to_yaml())
    write_images(folder, "test", embedded(96, seed, noise))
    if train:
        write_images(folder, "train", embedded(192, seed + 50, noise))
    return folder


def write_images(folder: Path, split: str, embeddings: Embeddings, **what: Any) -> Path:
    """Write embeddings of a run as `embed` does, under any name."""
    recipe = Run(folder).read_recipe()
    images: dict[str, Any] = {"dataset": recipe.dataset.name, "classes": "all", "seed": 0} | what
    contents = Contents(split=split, model=recipe.digest(), **images)
    name = hashlib.sha256(repr(contents).encode()).hexdigest()[:8]
    path = Run(folder).embeddings / f"{name}.parquet"
    write_embeddings(path, embeddings, metadata=contents.to_metadata())
    return path


def test_one_file_prints_a_table_and_writes_what_python_computes(files: Path) -> None:
    arguments = ("good0.parquet", "--train", "good-train.parquet", "--hierarchy", "shapes", *QUICK)
    code, table, notes = run(*arguments, "--plot", "scores.svg")
    assert code == 0
    for words in ("level 4", "48 classes", "k-NN", "Linear probe", "Adjusted Rand", "RankMe"):
        assert words in table
    assert "Chance alone raises the plain Rand index" in table
    assert "scored good0.parquet by good-train.parquet" in notes
    assert not (files / "results.json").exists(), "nobody asked for it"
    assert (files / "scores.svg").read_text().count("Chance alone raises the plain Rand index") == 1
    expected = evaluate(
        embedded(96, 1, 0.2), TREE, train=embedded(192, 101, 0.2), cluster_counts=(10, 20)
    )
    assert "wrote r.json" in run(*arguments, "--out", "r.json")[2]
    written = json.loads((files / "r.json").read_text())
    assert written["options"]["hierarchy"] == "shapes"
    assert written["scores"] == expected.scores()
    assert read_scores(files / "r.json").scores == expected.scores()
    assert json.loads(run(*arguments, "--json")[1]) == written


def test_a_single_tree_of_classes_is_called_one(files: Path) -> None:
    caveat = "a single tree jumps by chance, so small differences mean nothing"
    for inputs in (["good0.parquet"], ["good0.parquet", "bad0.parquet"]):
        _, table, _ = run(*inputs, "--hierarchy", "shapes", *QUICK)
        assert "Single class tree, Pearson" in table
        assert caveat in " ".join(table.split())
    _, table, _ = run("good0.parquet", *QUICK)
    assert caveat not in " ".join(table.split()), "classes of one level have no tree"


def test_without_training_set_or_hierarchy_there_is_less_but_no_error(files: Path) -> None:
    code, table, _ = run("good0.parquet", *QUICK)
    assert code == 0
    assert table.count("┏") == 1, "flat labels have one table"
    for words in ("Rand index", "Adjusted Rand, 20 clusters", "RankMe"):
        assert words in table
    assert "level" not in table
    assert "give --train" in " ".join(table.split())


def test_flat_labels_have_no_finest_level_in_the_figure(files: Path) -> None:
    for tree, said in (
        ([], "Rand index by number of clusters"),
        (["--hierarchy", "shapes"], "Rand index, finest level"),
    ):
        assert run("good0.parquet", *tree, *QUICK, "--plot", "scores.svg")[0] == 0
        drawn = (files / "scores.svg").read_text()
        assert said in drawn
        assert ("finest level" in drawn) is bool(tree)


def test_several_inputs_are_grouped_by_name_and_the_best_is_marked(files: Path) -> None:
    names = ("good=good0.parquet", "good=good1.parquet", "bad=bad0.parquet", "bad=bad1.parquet")
    trains = [f"{name}-train.parquet" for name in ("good", "good", "bad", "bad")]
    options = [part for train in trains for part in ("--train", train)]
    more = ["--plot", "all.png", "--out", "results.json"]
    code, table, _ = run(*names, *options, "--hierarchy", "shapes", *QUICK, *more)
    assert code == 0
    row = next(line for line in table.splitlines() if "good (2)" in line)
    assert row.count("*") == 4
    assert row.count("±") == 4
    groups = json.loads((files / "results.json").read_text())["groups"]
    assert [group["name"] for group in groups] == ["good", "bad"]
    inputs = json.loads((files / "results.json").read_text())["inputs"]
    good = [each["scores"]["knn.level4"] for each in inputs if each["method"] == "good"]
    assert groups[0]["scores"]["knn.level4"] == pytest.approx(np.mean(good))
    assert groups[0]["deviations"]["knn.level4"] == pytest.approx(np.std(good, ddof=1))
    assert (files / "all.png").stat().st_size > 10_000


def test_a_run_brings_its_files_its_hierarchy_and_gets_its_results(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", "vicreg", 0, 0.3)
    code, table, _ = run(str(folder), *QUICK)
    assert code == 0
    assert "VICReg, hierarchy shapes" in table
    assert read_scores(Run(folder).results).scores["knn.level1"] > 0.5


def test_runs_are_seeds_of_one_model_where_only_the_seed_differs(tmp_path: Path) -> None:
    folders = [
        write_run(tmp_path / "a", "vicreg", 0, 0.3),
        write_run(tmp_path / "b", "vicreg", 1, 0.3),
        write_run(tmp_path / "c", "sag-vicreg", 0, 0.2),
    ]
    names = [each.name for each in open_inputs([str(folder) for folder in folders])]
    assert names == ["VICReg", "VICReg", "SAG-VICReg"]
    recipe = load_recipe("shapes/vicreg", scale="smoke", overrides=["batch_size=32"])
    write_text(Run(folders[1]).recipe, recipe.to_yaml())
    names = [each.name for each in open_inputs([str(folder) for folder in folders])]
    assert names == [f"VICReg ({folders[0]})", f"VICReg ({folders[1]})", "SAG-VICReg"]


def test_two_image_sets_of_one_model_are_no_seeds(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "a", "vicreg", 0, 0.3)
    files = [Run(folder).test_file().path]
    files.append(write_images(folder, "test", embedded(96, 3, 0.3), classes="first"))
    names = [each.name for each in open_inputs([str(file) for file in files])]
    assert names == [f"VICReg ({file})" for file in files]
    with pytest.raises(InputError, match="named twice"):
        open_inputs([f"x={folder}", f"x={folder}"])


def test_what_is_no_seed_of_a_model_never_shares_its_name(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "a", "vicreg", 0, 0.3)
    file = tmp_path / "model.parquet"
    write_embeddings(file, embedded(96, 3, 0.3))
    names = [each.name for each in open_inputs([str(folder), str(file)])]
    assert names == ["VICReg", "model.parquet"]
    names = [each.name for each in open_inputs([str(folder), f"VICReg={file}"])]
    assert names == [f"VICReg ({folder})", "VICReg"]
    # Whoever says twice that it is one model is believed.
    names = [each.name for each in open_inputs([f"x={folder}", f"x={file}"])]
    assert names == ["x", "x"]


def test_a_file_brings_the_training_file_beside_it(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "a", "vicreg", 0, 0.3)
    test = Run(folder).test_file().path
    (train,) = set(Run(folder).embeddings.iterdir()) - {test}
    assert [(each.test, each.train) for each in open_inputs([str(test)])] == [(test, train)]
    assert open_inputs([str(train)])[0].train is None


def test_files_are_picked_by_what_they_hold(tmp_path: Path) -> None:
    """What `embed --max-images 240` and `--split train --max-images 480` leave is found."""
    folder = write_run(tmp_path / "a", "vicreg", 0, 0.3, train=False)
    Run(folder).test_file().path.unlink()
    test = write_images(folder, "test", embedded(96, 0, 0.3), max_images=240)
    train = write_images(folder, "train", embedded(192, 50, 0.3), max_images=480)
    (found,) = open_inputs([str(folder)])
    assert (found.test, found.train) == (test, train)
    # What a figure makes on its way changes nothing, not even where it is all images.
    write_images(folder, "test", embedded(96, 1, 0.3), made_by="reproduce")
    write_images(folder, "train", embedded(96, 51, 0.3), made_by="reproduce")
    (found,) = open_inputs([str(folder)])
    assert (found.test, found.train) == (test, train)
    # Nor do embeddings of another dataset, by another seed, or of another model.
    write_images(folder, "test", embedded(96, 1, 0.3), dataset="cifar100")
    write_images(folder, "train", embedded(96, 51, 0.3), seed=1)
    (found,) = open_inputs([str(folder)])
    assert (found.test, found.train) == (test, train)
    second = write_images(folder, "test", embedded(96, 2, 0.3), classes="first", max_images=9)
    with pytest.raises(InputError, match="several files of test embeddings"):
        open_inputs([str(folder)])
    assert open_inputs([str(second)])[0].train is None, "its classes are others"
    whole = write_images(folder, "test", embedded(96, 2, 0.3))
    assert open_inputs([str(folder)])[0].test == whole


def test_ids_that_do_not_agree_are_refused_or_left_out(tmp_path: Path) -> None:
    folders = [write_run(tmp_path / name, name, 0, 0.3) for name in ("vicreg", "sag-vicreg")]
    test = Run(folders[1]).test_file()
    assert test.contents is not None
    write_embeddings(
        test.path,
        embedded(96, 0, 0.3).take(slice(10, None)),
        metadata=test.contents.to_metadata(),
    )
    inputs = [str(folder) for folder in folders]
    code, _, error = run(*inputs, *QUICK)
    assert code == 2
    assert "id 'test/0' is missing from" in error
    assert "--join inner" in error
    code, out, error = run(*inputs, "--join", "inner", "--json", *QUICK)
    assert code == 0
    assert "left out rows whose id not every set has: 10 of" in error
    assert [each["n_images"] for each in json.loads(out)["inputs"]] == [86, 86]
    # Scores of some images alone are not the run's: only that of which none was left out has them.
    assert [Run(folder).results.exists() for folder in folders] == [False, True]
    assert "vicreg/results.json stays as it is: these scores are not of all images" in error


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
    before = Run(folder).test_file()
    (Run(folder).embeddings / ".shapes-test-all-x1y2z3.parquet").touch()
    assert Run(folder).test_file() == before


def test_files_of_one_name_are_told_apart_by_folder(tmp_path: Path) -> None:
    for folder in ("x", "y"):
        write_embeddings(tmp_path / folder / "test.parquet", embedded(96, 0, 0.3))
    specs = [str(tmp_path / folder / "test.parquet") for folder in ("x", "y")]
    assert [each.name for each in open_inputs(specs)] == ["x/test.parquet", "y/test.parquet"]
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
        (["good0.parquet", "--clusters", ""], "--clusters is ''"),
        (["good0.parquet", "--plot", "scores.gif"], "cannot draw"),
        (["good0.parquet", "--out", "."], "it is a folder"),
        (["good0.parquet", "--plot", "good0.parquet/scores.png"], "cannot write"),
        (["good0.parquet", "good1.parquet", "--train", "good-train.parquet"], "1 --train for 2"),
        (["good0.parquet", "good1.parquet", "--view", "good1.parquet"], "--view belongs to one"),
        (["a="], "neither a path nor NAME=PATH"),
        (["."], "is not a run folder"),
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
    Run(folder).test_file().path.unlink()
    code, _, error = run(str(folder))
    assert code == 2
    assert "sag-vicreg embed" in error
