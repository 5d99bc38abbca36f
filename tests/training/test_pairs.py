"""What the log says of the walk's pairs, against counting by hand."""

import csv
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from sag_vicreg.artifacts import Run
from sag_vicreg.data import load_dataset
from sag_vicreg.distributed import GlobalViews
from sag_vicreg.hierarchy import load_hierarchy
from sag_vicreg.pairing import Pairs, RandomWalkPairing, WalkedViews, own_view_rank
from sag_vicreg.recipes import Recipe
from sag_vicreg.training import train
from sag_vicreg.training.batches import Plan
from sag_vicreg.training.pairs import PairMonitor, class_levels

MakeRecipe = Callable[..., Recipe]
WALK = ["own_view_nearest", "own_view_near", "pair_weight"]
LEVELS = [f"same_class_level{level}" for level in (1, 2, 3, 4)]


def rows(run: Run) -> list[dict[str, str]]:
    with run.metrics.open(newline="") as file:
        return list(csv.DictReader(file))


def test_the_rank_of_the_own_view_is_how_many_are_nearer() -> None:
    generator = torch.Generator().manual_seed(0)
    z, z_prime = torch.randn(2, 30, 5, generator=generator)
    ranks = own_view_rank(z, z_prime).tolist()
    for i in range(30):
        cosines = [float(torch.cosine_similarity(z[i], other, dim=0)) for other in z_prime]
        assert ranks[i] == sum(c > cosines[i] for c in cosines)
    assert own_view_rank(z, 3 * z).tolist() == [0] * 30
    assert own_view_rank(0 * z, z_prime).tolist() == [0] * 30


def test_pairs_are_counted_by_level(tiny_recipe: MakeRecipe) -> None:
    recipe = tiny_recipe("sag-vicreg", "accumulate=2", "batch_size=12")
    data = load_dataset("shapes", max_images=96, image_size=32)
    plan = Plan(recipe, len(data))
    monitor = PairMonitor(plan, data, k=3)
    moment = plan.moment(2, 1)
    generator = torch.Generator().manual_seed(0)
    z, z_prime = torch.randn(2, 12, 4, generator=generator)
    # Two stay, ten go.
    partners = [0, 1, 0, 1, 2, 3, 4, 11, 9, 2, 7, 8]
    weights = torch.linspace(0, 1, 12)
    walked = RandomWalkPairing()(z, z_prime, pairs=Pairs(torch.tensor(partners), weights))
    measured = monitor.measure(walked, moment)

    tree = load_hierarchy("shapes")
    names = [data.class_names[label] for label in data.labels[plan.indices(moment)].tolist()]
    for level in (1, 2, 3, 4):
        groups = tree.encode(names, level)
        same = [groups[i] == groups[j] for i, j in enumerate(partners) if i != j]
        assert measured[f"same_class_level{level}"] == pytest.approx(sum(same) / 10)
    ranks = own_view_rank(z, z_prime)
    assert measured["own_view_nearest"] == pytest.approx((ranks == 0).sum().item() / 12)
    assert measured["own_view_near"] == pytest.approx((ranks < 3).sum().item() / 12)
    assert measured["pair_weight"] == pytest.approx(0.5)
    assert list(measured) == list(monitor.columns) == [*WALK, *LEVELS]

    at_home = WalkedViews.at_home(GlobalViews(z, z_prime, (12,), slice(0, 12)))
    assert list(monitor.measure(at_home, moment)) == WALK, "no walk, no partner's class"


def test_classes_without_a_tree_are_one_level_and_one_class_is_none() -> None:
    from dataclasses import replace

    data = load_dataset("shapes", max_images=96, image_size=32)
    (classes,) = class_levels(replace(data, name="folder:pictures"))
    assert classes.tolist() == list(range(len(data.class_names)))
    renamed = replace(data, class_names=tuple(f"class {i}" for i in range(len(data.class_names))))
    assert len(class_levels(renamed)) == 1
    assert class_levels(replace(data, labels=torch.zeros_like(data.labels))) == []


def test_the_log_says_what_was_paired(finished: Run) -> None:
    """The tiny run walks from its sixth step on."""
    for row in rows(finished):
        walks = float(row["nontrivial"]) > 0
        assert all(0 <= float(row[name]) <= 1 for name in WALK)
        assert float(row["own_view_nearest"]) <= float(row["own_view_near"])
        assert (float(row["pair_weight"]) < 1) == walks
        assert [row[name] != "" for name in LEVELS] == [walks] * 4
        shares = [float(row[name]) for name in LEVELS if walks]
        assert shares == sorted(shares, reverse=True), "who shares a class shares its groups"


def test_tensorboard_holds_them_too(finished: Run) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    board = EventAccumulator(str(finished.folder / "tensorboard"))
    board.Reload()
    found = [event.value for event in board.Scalars("same_class_level1")]
    logged = [float(row["same_class_level1"]) for row in rows(finished) if row[LEVELS[0]]]
    assert found == pytest.approx(logged, rel=1e-6)


def test_a_method_that_does_not_walk_logs_nothing_of_it(
    tiny_recipe: MakeRecipe, tmp_path: Path
) -> None:
    run = train(tiny_recipe("vicreg", "schedule.steps=2"), tmp_path / "run")
    assert not {*WALK, *LEVELS} & rows(run)[0].keys()


def test_a_log_from_before_goes_on_as_it_was(
    tiny_recipe: MakeRecipe, finished: Run, tmp_path: Path
) -> None:
    """Runs of older versions have no such columns: they are resumed with the columns they have."""
    from sag_vicreg.training.checkpoint import CheckpointStore

    class Killed(BaseException):
        pass

    save = CheckpointStore.save

    def save_and_die(self: CheckpointStore, done: int, state: dict[str, object]) -> None:
        save(self, done, state)
        if done == 6:
            raise Killed

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CheckpointStore, "save", save_and_die)
        with pytest.raises(Killed):
            train(tiny_recipe(), tmp_path / "run")
    run = Run(tmp_path / "run")
    header, *lines = [line.split(",") for line in run.metrics.read_text().splitlines()]
    keep = [i for i, name in enumerate(header) if name not in (*WALK, *LEVELS)]
    cut = [",".join(line[i] for i in keep) for line in [header, *lines]]
    run.metrics.write_text("\n".join(cut) + "\n")
    train(tiny_recipe(), run.folder, resume=True)
    resumed, whole = rows(run), rows(finished)
    assert len(resumed) == 10
    for mine, other in zip(resumed, whole, strict=True):
        assert not {*WALK, *LEVELS} & mine.keys()
        assert mine["loss"] == other["loss"]
