"""Partners that the labels choose: who is paired, a training of shapes, the tables."""

import csv
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from made_results import repository
from made_study import Scores, finish, finish_search
from replication import references
from replication.ceiling import ROWS, class_pair_places, class_pair_tables
from replication.class_pairs import ClassPairedVICReg, class_pairs, train_on_classes
from replication.commands import main
from replication.page import END
from replication.references import ReferencePoint, embedded_by, read_points
from replication.study_page import BEGIN
from sag_vicreg.artifacts import Result, Run
from sag_vicreg.methods import TwoViewMethod
from sag_vicreg.recipes import load_recipe
from sag_vicreg.reproduce.declarations import ImageSet
from sag_vicreg.training.batches import Plan
from sag_vicreg.training.run import untrained_method


def pairs_of(labels: list[int], *, share: float, seed: int = 0) -> tuple[list[int], list[float]]:
    generator = torch.Generator().manual_seed(seed)
    pairs = class_pairs(torch.tensor(labels), share=share, weight=0.25, generator=generator)
    return pairs.indices.tolist(), pairs.weights.tolist()


def test_partners_are_classmates_and_the_others_stay_at_home() -> None:
    labels = [0, 1, 0, 2, 1, 0] * 20 + [3]  # nobody shares the class of the last row
    partners, weights = pairs_of(labels, share=0.6)
    left = [row for row, partner in enumerate(partners) if partner != row]
    assert 0.45 < len(left) / len(labels) < 0.75
    for row, (partner, weight) in enumerate(zip(partners, weights, strict=True)):
        assert labels[partner] == labels[row]
        assert weight == (0.25 if partner != row else 1)
    everybody, _ = pairs_of(labels, share=1)
    assert [row for row, partner in enumerate(everybody) if partner == row] == [len(labels) - 1]


def test_every_classmate_is_drawn_equally_often() -> None:
    drawn = [pairs_of([0, 1, 0, 0, 1], share=1, seed=seed)[0][0] for seed in range(400)]
    assert set(drawn) == {2, 3}
    assert 160 < drawn.count(2) < 240
    assert pairs_of([0, 1, 0, 0, 1], share=1, seed=7) == pairs_of([0, 1, 0, 0, 1], share=1, seed=7)


def test_the_nearest_classmate_is_the_nearest_of_the_class() -> None:
    generator = torch.Generator().manual_seed(0)
    labels = torch.randint(4, (40,), generator=generator)
    rows = torch.nn.functional.normalize(torch.randn(40, 8, generator=generator), dim=1)
    cosines = rows @ rows.T
    pairs = class_pairs(labels, share=1, weight=1, generator=generator, cosines=cosines)
    for row, partner in enumerate(pairs.indices.tolist()):
        mates = [j for j in range(40) if labels[j] == labels[row] and j != row]
        assert partner == mates[int(cosines[row, mates].argmax())]


def test_nobody_leaves_where_nobody_may() -> None:
    assert pairs_of([0, 0, 0], share=0) == ([0, 1, 2], [1, 1, 1])
    assert pairs_of([0, 1, 2], share=1) == ([0, 1, 2], [1, 1, 1])


@pytest.mark.parametrize("name", ROWS)
def test_a_training_pairs_classmates_and_is_loaded_again(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(references, "SIZES", (40, 30))
    few = ["monitor.log_every=1", "schedule.steps=4"]
    recipe = load_recipe("shapes/sag-vicreg", scale="smoke", overrides=few)
    images = ImageSet("shapes", "all", "train")
    row = ROWS[name]
    trained = train_on_classes(recipe, tmp_path / "run", row)
    header, *lines = csv.reader(Run(tmp_path / "run").metrics.read_text().splitlines())
    finest = max(column for column in header if column.startswith("same_class"))
    assert len(lines) == 4
    for line in lines:
        logged = dict(zip(header, line, strict=True))
        left = float(logged["nontrivial"])
        assert 0 < left < 1
        assert float(logged[finest]) == 1, "partners are classmates by the log's own count"
        assert float(logged["pair_weight"]) == pytest.approx(1 - left * (1 - row.weight), abs=1e-5)
    # Finished already, it is loaded and not trained again.
    again = train_on_classes(recipe, tmp_path / "run", row)
    assert len(Run(tmp_path / "run").metrics.read_text().splitlines()) == 5
    one, other = (embedded_by(encoder.embed, images) for encoder in (trained, again))
    assert len(one.pool) == 40
    torch.testing.assert_close(
        torch.from_numpy(one.kept.vectors), torch.from_numpy(other.kept.vectors)
    )
    start = references.untrained(recipe, images)
    assert abs(one.kept.vectors - start.kept.vectors).max() > 1e-3


def test_the_nearest_are_searched_around_the_own_view() -> None:
    recipe = load_recipe("shapes/vicreg", scale="smoke")
    plan = Plan(recipe, 960)
    labels = torch.arange(960) % 3
    method = untrained_method(recipe)
    assert isinstance(method, TwoViewMethod)
    paired = ClassPairedVICReg(method, labels, plan, replace(ROWS["nearest"], share=1))
    moment = plan.moment(0, 0)
    generator = torch.Generator().manual_seed(0)
    shape = (recipe.batch_size, 3, recipe.dataset.image_size, recipe.dataset.image_size)
    walked = paired([torch.randn(shape, generator=generator) for _ in range(2)], moment).walked
    assert walked is not None
    own, classes = walked.views.z_prime.detach(), labels[plan.indices(moment)]
    for row, partner in enumerate(walked.indices.tolist()):
        mates = [j for j in range(len(own)) if classes[j] == classes[row] and j != row]
        near = torch.cosine_similarity(own[row], own[mates])
        assert partner == mates[int(near.argmax())]


def point(row: str, seed: int, *, knn: float, forest: float, steps: int = 1000) -> ReferencePoint:
    return ReferencePoint(f"class-pairs-{row}", str(steps), seed, knn, forest, 0.1, 0.9)


def test_the_table_sets_them_beside_vicreg_seed_by_seed() -> None:
    results: dict[str, Result] = {}
    for name in ("vicreg-10", "own-view-10"):
        finish_search(name, results)
    finish("vicreg-10", 10, Scores(knn=22.0, forest=0.80), results)
    finish("vicreg-10", 11, Scores(knn=24.0, forest=0.82), results)
    finish("own-view-10", 10, Scores(knn=21.0, forest=0.81), results)
    points = [
        point("half", 10, knn=23.5, forest=0.79),
        point("half", 11, knn=24.5, forest=0.85),
        point("half", 0, knn=30.0, forest=0.9, steps=3000),
        ReferencePoint("colour", "mean of the image", 0, 7.0, 1.0, 1.0, 1.0),
    ]
    first, longer = class_pair_tables(points, results)
    assert "| VICReg, pull of 10 | 10, 11 | 23.00 | 0.810 | — | — |" in first
    assert "| 10 | 21.00 | 0.810 | -1.00 (-1.00) | +0.010 (+0.010) |" in first
    assert (
        "| by label, half of the rows, weight 1 | 10, 11 | 24.00 | 0.820 "
        "| +1.00 (+1.50, +0.50) | +0.010 (-0.010, +0.030) |"
    ) in first
    # Nothing to compare with at that length.
    assert longer.splitlines()[2:] == [
        "| by label, half of the rows, weight 1 | 0 | 30.00 | 0.900 | — | — |"
    ]
    assert class_pair_tables([], results) == []
    assert class_pair_places(points) == [
        ("", (24.0, pytest.approx(0.82)), ()),
        ("3,000", (30.0, 0.9), ()),
    ]


def test_the_command_measures_what_is_missing_and_prints_the_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    published = repository(tmp_path)
    page = tmp_path / "docs" / "study.md"
    page.write_text(f"# By hand\n\n{BEGIN}\n{END}\n")
    results: dict[str, Result] = {}
    for name in ("vicreg", "vicreg-10", "own-view-10"):
        finish_search(name, results)
    for result in results.values():
        result.write(published)
    trained: list[tuple[str, int]] = []

    def train(name: str, seed: int, *_: object) -> list[None]:
        trained.append((name, seed))
        return [None, None]

    def measure(kind: str, detail: str, seed: int, *_: object) -> ReferencePoint:
        return ReferencePoint(kind, detail, seed, 20.0, 0.8, 0.7, 0.9)

    monkeypatch.setattr("replication.ceiling._train", train)
    monkeypatch.setattr(references, "measure", measure)
    given = ["ceiling", "--out", str(tmp_path / "out"), "--published", str(published)]
    for _ in range(2):
        with pytest.raises(SystemExit) as ended:
            main([*given, "half", "--seeds", "3", "4", "--steps", "100", "--publish"])
        assert not ended.value.code
    assert trained == [("half", 3), ("half", 4)], "each once"
    assert len(read_points(published.parent / "reference-points.json")) == 2
    row = "| by label, half of the rows, weight 1 | 3, 4 | 20.00 | 0.800 | — | — |"
    assert row in capsys.readouterr().out
    assert row in page.read_text()
    with pytest.raises(SystemExit) as ended:
        main([*given, "nobody"])
    assert ended.value.code == 2
    assert "unknown row 'nobody'" in capsys.readouterr().err
