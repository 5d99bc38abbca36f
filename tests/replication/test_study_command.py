"""The study's command: goes on from what is published, completes, publishes and tabulates."""

from pathlib import Path

import numpy as np
import pytest

from made_results import embeddings, pretend_trained, repository
from made_study import Scores, finish, finish_search
from replication import references
from replication.commands import main
from replication.contenders import plan
from replication.page import END
from replication.places import Places
from replication.study import Study
from replication.study_page import BEGIN
from sag_vicreg.artifacts import Result, read_results
from sag_vicreg.recipes import load_recipe
from sag_vicreg.reproduce import Campaign, Store, WorkerPool
from sag_vicreg.reproduce.declarations import ImageSet


@pytest.fixture
def published(tmp_path: Path) -> Path:
    """A page without results, and the folder of published results."""
    folder = repository(tmp_path)
    (tmp_path / "docs" / "study.md").write_text(f"# By hand\n\n{BEGIN}\n{END}\n")
    return folder


def command(*arguments: str | Path) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["study", *map(str, arguments)])
    return int(ended.value.code or 0)


def write(results: dict[str, Result], folder: Path) -> None:
    for result in results.values():
        result.write(folder)


def test_a_fresh_machine_goes_on_from_what_is_published(
    tmp_path: Path,
    published: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    results: dict[str, Result] = {}
    finish_search("vicreg", results)
    for seed in (10, 11):
        finish("vicreg", seed, Scores(knn=20.0, forest=0.78), results)
    write(results, published)
    out = tmp_path / "fresh"
    assert command("vicreg", "--out", out, "--published", published, "--publish") == 0
    # What is done is neither trained nor measured again, and stays published as it is.
    assert not (out / "models").exists()
    assert "done:" not in capsys.readouterr().out
    assert read_results([published]) == results
    assert "| VICReg | 20.00 (20.00, 20.00) | 0.780" in (tmp_path / "docs/study.md").read_text()


def test_results_of_before_are_completed_published_and_tabulated(
    tmp_path: Path,
    published: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    results: dict[str, Result] = {}
    finish_search("vicreg", results)
    write(results, published)
    finish("vicreg", 10, Scores(knn=20.0, forest=None), results)
    store = Store(tmp_path / "out", (published,))
    planned = plan("vicreg", 10, results)
    write({e.key: results[e.key] for e in planned.evaluations()}, store.results_folder)
    for seed, recipe in enumerate(planned.recipes):
        pretend_trained(recipe, store, planned.structure.images, embeddings(seed))
    given = ("--out", store.root, "--published", published)
    assert command("--no-run", *given, "--publish") == 0
    printed = capsys.readouterr().out
    assert "done: forest of structure of cifar100/vicreg seed 10" in printed
    assert "| VICReg (**unfinished**: seed 11) | 20.00 | 0." in printed
    known = read_results([published])
    assert known.keys() == results.keys()
    assert "forest.spearman" in known[planned.structure.key].scores
    # The training images of a screened model, one file per model.
    names = {path.name for path in (published.parent / "embeddings").iterdir()}
    assert names == {f"{r.digest()}-cifar100-train-first.parquet" for r in planned.recipes}
    # With these a third machine needs neither models nor results of the second.
    third = Store(tmp_path / "third", (published,))
    study = Study(Campaign(third, WorkerPool()), Places(published))
    assert study.tabulate() in printed


def test_mistakes_are_one_line(published: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command("nobody", "--no-run", "--published", published) == 2
    message = capsys.readouterr().err
    assert "unknown contender 'nobody'" in message
    assert message.count("\n") == 1
    Places(published).page("study").write_text("# no markers")
    assert command("--no-run", "--publish", "--published", published) == 2
    assert "put both back" in capsys.readouterr().err


def test_points_without_training_are_of_shapes_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(references, "SIZES", (60, 50))
    images = ImageSet("shapes", "first", "train")
    recipes = [
        load_recipe("shapes/vicreg", scale="smoke", overrides=[f"seed={seed}"])
        for seed in (0, 0, 1)
    ]
    same, again, other = (references.untrained(recipe, images) for recipe in recipes)
    assert (len(same.pool), len(same.kept)) == (60, 50)
    # The two models of a seed begin alike, those of two seeds do not.
    np.testing.assert_array_equal(same.kept.vectors, again.kept.vectors)
    assert np.abs(same.kept.vectors - other.kept.vectors).max() > 1e-3
    colours = references.mean_colours(images)
    assert colours.pool.vectors.shape == (60, 3)
    assert colours.kept.labels is not None
    np.testing.assert_array_equal(colours.kept.ids, same.kept.ids)  # type: ignore[arg-type]


def test_mean_colours_are_those_of_the_normalised_pixels() -> None:
    from sag_vicreg.data import load_dataset
    from sag_vicreg.published import IMAGE_MEAN, IMAGE_STD

    dataset = load_dataset("shapes", split="train", classes="first", max_images=50)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(references, "SIZES", (50, 50))
        found = references.mean_colours(ImageSet("shapes", "first", "train")).pool.vectors
    pixels = dataset.batch(range(50)).numpy().astype(np.float64) / 255
    expected = (pixels.mean(axis=(2, 3)) - IMAGE_MEAN) / IMAGE_STD
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_only_missing_points_are_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results: dict[str, Result] = {}
    finish_search("vicreg", results)
    store = Store(tmp_path / "out")
    planned = plan("vicreg", 10, results)
    for seed, recipe in enumerate(planned.recipes):
        pretend_trained(recipe, store, planned.structure.images, embeddings(seed))
    measured: list[tuple[str, str, int]] = []

    def measure(kind: str, detail: str, seed: int, *_: object) -> references.ReferencePoint:
        measured.append((kind, detail, seed))
        return references.ReferencePoint(kind, detail, seed, 5.0, 0.9, 0.8, 1.0)

    def sets(*_: object) -> references.Sets:
        return references.Sets(embeddings(0), embeddings(0))

    monkeypatch.setattr(references, "measure", measure)
    monkeypatch.setattr(references, "SIZES", (2000, 2000))
    monkeypatch.setattr(references, "untrained", sets)
    monkeypatch.setattr(references, "mean_colours", sets)
    path = tmp_path / "points.json"
    for _ in range(2):
        wanted = references.costless_points(store, results)
        references.complete_points(path, wanted, lambda line: None)
    # Seed 11 has no models, and what is there is not measured twice.
    expected = [("pca", str(n), 10) for n in references.COMPONENTS]
    expected += [("untrained", "the same weights", 10), ("untrained", "other weights", 10)]
    assert measured == [*expected, ("colour", "mean of the image", 0)]
    assert [point.place for point in references.read_points(path)] == measured
