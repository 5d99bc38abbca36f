"""The training benchmark measures what it says, here on a model small enough to wait for."""

from pathlib import Path

import pytest
import torch

from benchmarks.training import Stepper, stopwatch, time_steps
from benchmarks.training_peer import STEPS, LightlyPipeline, images_per_second
from benchmarks.walk_share import draw_walk_share
from sag_vicreg.recipes import Recipe, load_recipe
from sag_vicreg.training.inputs import load_images


def smoke(method: str) -> Recipe:
    walk = ["method.walk_after=0"] if method == "sag-vicreg" else []
    return load_recipe(f"shapes/{method}", scale="smoke", overrides=walk)


def test_the_walk_is_timed_inside_of_the_step() -> None:
    seconds, walk = time_steps(smoke("sag-vicreg"), repeats=3)
    assert 0 < walk < seconds


def test_a_stopwatch_counts_calls_and_is_taken_off() -> None:
    layer = torch.nn.Linear(2, 2)
    with stopwatch(layer) as seconds:
        layer(torch.zeros(1, 2))
        layer(torch.zeros(1, 2))
    layer(torch.zeros(1, 2))
    assert len(seconds) == 2


def test_a_stepper_trains() -> None:
    stepper = Stepper(smoke("vicreg"))
    before = [p.clone() for p in stepper.method.parameters()]
    stepper.step()
    after = list(stepper.method.parameters())
    assert any(not torch.equal(a, b) for a, b in zip(before, after, strict=True))


def test_both_pipelines_train_the_same_backbone() -> None:
    recipe = smoke("vicreg")
    ours, theirs = images_per_second(recipe, repeats=1)
    assert ours > 0
    assert theirs > 0
    pipeline = LightlyPipeline(recipe, load_images(recipe, "train", root=None), workers=0)
    assert len(pipeline.ends_of_steps()) == STEPS + 1
    ours_model, theirs_model = Stepper(recipe).method.backbone, pipeline.model[0]
    assert [p.shape for p in ours_model.parameters()] == [
        p.shape for p in theirs_model.parameters()
    ]


@pytest.mark.parametrize("suffix", ["svg", "png"])
def test_the_walks_share_is_drawn(suffix: str, tmp_path: Path) -> None:
    draw_walk_share({64: 0.01, 256: 0.02, 4096: 0.3}, tmp_path / f"share.{suffix}")
    assert (tmp_path / f"share.{suffix}").stat().st_size > 2000
