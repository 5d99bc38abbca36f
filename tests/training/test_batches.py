"""Batches: every image once an epoch, cut by rank, a function of seed, epoch and step."""

import numpy as np
import pytest

from sag_vicreg.errors import InputError
from sag_vicreg.recipes import load_recipe
from sag_vicreg.training.batches import Batches, Plan


def plan(n_images: int = 103, *overrides: str) -> Plan:
    settings = ["batch_size=10", "schedule.steps=25", *overrides]
    return Plan(load_recipe("shapes/vicreg", scale="smoke", overrides=settings), n_images)


def test_an_epoch_shows_every_image_at_most_once_and_the_next_in_another_order() -> None:
    p = plan()
    assert p.steps_per_epoch == 10
    epochs = [
        np.concatenate([p.indices(p.moment(step, 0)) for step in range(start, start + 10)])
        for start in (0, 10)
    ]
    for epoch in epochs:
        assert len(set(epoch)) == 100
    assert not np.array_equal(*epochs)
    assert p.moment(10, 0).epoch == 1


@pytest.mark.parametrize("world_size", [1, 2, 3, 4])
def test_ranks_hold_contiguous_slices_of_one_global_batch(world_size: int) -> None:
    p = plan()
    whole = p.indices(p.moment(7, 0))
    slices = []
    for rank in range(world_size):
        moment = p.moment(7, 0, rank=rank, world_size=world_size)
        assert np.array_equal(p.indices(moment), whole)
        slices.append(whole[moment.rows])
    assert np.array_equal(np.concatenate(slices), whole)
    assert max(map(len, slices)) - min(map(len, slices)) <= 1


def test_accumulation_leaves_the_batch_alone_and_steps_once_for_several() -> None:
    p = plan(103, "accumulate=3")
    assert (p.steps_per_epoch, p.images_per_step) == (3, 30)
    moments = list(Batches(p, start=0, rank=0, world_size=1))
    assert len(moments) == 25 * 3
    assert [(m.step, m.part) for m in moments[:4]] == [(0, 0), (0, 1), (0, 2), (1, 0)]
    seen = np.concatenate([p.indices(m) for m in moments[:9]])
    assert len(set(seen)) == 90


def test_a_run_that_starts_later_sees_the_same_batches() -> None:
    p = plan()
    everything = list(Batches(p, start=0, rank=0, world_size=1))
    rest = list(Batches(p, start=13, rank=0, world_size=1))
    assert everything[13:] == rest
    assert len(Batches(p, start=25, rank=0, world_size=1)) == 0


def test_seeds_differ() -> None:
    a, b = plan(), plan(103, "seed=1")
    assert not np.array_equal(a.indices(a.moment(0, 0)), b.indices(b.moment(0, 0)))


def test_a_dataset_smaller_than_a_step_is_refused() -> None:
    with pytest.raises(InputError, match="shapes has 9 images but one step takes 10"):
        plan(9)
