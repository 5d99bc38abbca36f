"""A checkpoint is whole or it is refused, and the one before it is still there."""

import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from sag_vicreg.artifacts import Run
from sag_vicreg.errors import InputError
from sag_vicreg.recipes import Recipe
from sag_vicreg.training import train
from sag_vicreg.training.checkpoint import CheckpointStore, DamagedCheckpointError, seal

MakeRecipe = Callable[..., Recipe]


@pytest.fixture
def stopped(finished: Run, tmp_path: Path) -> Run:
    """The finished run as it was before its export."""
    run = Run(shutil.copytree(finished.folder, tmp_path / "stopped"))
    run.backbone.unlink()
    return run


def flip(path: Path, place: int) -> None:
    content = bytearray(path.read_bytes())
    content[place] ^= 0x10
    path.write_bytes(content)


def assert_same_weights(run: Run, expected: Run) -> None:
    weights = load_file(run.backbone)
    for name, tensor in load_file(expected.backbone).items():
        assert torch.equal(weights[name], tensor), name


def small_store(folder: Path, **options: Any) -> CheckpointStore:
    return CheckpointStore(Run(folder), "0" * 16, **options)


def small_state() -> dict[str, Any]:
    weights = {"w": torch.arange(500.0)}
    return {"method": weights, "optimizer": {}, "precision": {}, "probe": None, "images": "x"}


def test_a_flipped_bit_anywhere_is_found(tmp_path: Path) -> None:
    store = small_store(tmp_path)
    store.save(3, small_state())
    path = store.path(3)
    whole = path.read_bytes()
    rng = random.Random(0)
    for place in [*rng.sample(range(len(whole)), 200), 0, len(whole) - 1]:
        flip(path, place)
        with pytest.raises(DamagedCheckpointError) as caught:
            store.load(path)
        assert "\n" not in str(caught.value)
        path.write_bytes(whole)
    for length in (0, 1, len(whole) // 2, len(whole) - 1, len(whole) - 120):
        path.write_bytes(whole[:length])
        with pytest.raises(DamagedCheckpointError):
            store.load(path)
    path.write_bytes(whole)
    assert torch.equal(store.load(path)["method"]["w"], torch.arange(500.0))
    assert torch.load(path, weights_only=True)["step"] == 3  # plain PyTorch reads it too


def test_a_damaged_checkpoint_costs_the_steps_since_the_one_before(
    tiny_recipe: MakeRecipe, finished: Run, stopped: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    last = stopped.checkpoints / "step-00000010.pt"
    flip(last, last.stat().st_size // 2)
    run = train(tiny_recipe(), stopped.folder, resume=True)
    (said,) = [line for line in capsys.readouterr().err.splitlines() if "checkpoint" in line]
    assert "step-00000010.pt is damaged" in said
    assert said.endswith("going on from step-00000009.pt")
    assert_same_weights(run, finished)
    CheckpointStore(run, tiny_recipe().digest()).load(last)  # written anew


def test_where_none_is_good_nothing_is_trained(tiny_recipe: MakeRecipe, stopped: Run) -> None:
    for path in stopped.checkpoints.iterdir():
        flip(path, 1000)
    with pytest.raises(InputError, match=r"step-00000010\.pt is damaged.*train anew") as caught:
        train(tiny_recipe(), stopped.folder, resume=True)
    assert "\n" not in str(caught.value)
    assert not stopped.backbone.exists()


def test_a_renamed_checkpoint_is_not_believed(
    tiny_recipe: MakeRecipe, finished: Run, stopped: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    (stopped.checkpoints / "step-00000010.pt").unlink()
    shutil.copy(stopped.checkpoints / "step-00000009.pt", stopped.checkpoints / "step-00000010.pt")
    run = train(tiny_recipe(), stopped.folder, resume=True)
    assert "was renamed: it was written at step 9" in capsys.readouterr().err
    assert_same_weights(run, finished)


def test_a_checkpoint_of_before_says_what_to_do(tiny_recipe: MakeRecipe, stopped: Run) -> None:
    path = max(stopped.checkpoints.iterdir())
    torch.save(torch.load(path, weights_only=True) | {"format": 1}, path)
    with pytest.raises(InputError, match=r"format 1.*finish the run with the version that"):
        train(tiny_recipe(), stopped.folder, resume=True)


def without_groups(state: dict[str, Any]) -> None:
    state["param_groups"] = []


def other_shape(state: dict[str, Any]) -> None:
    state["state"][0]["momentum"] = torch.zeros(1)


def not_finite(state: dict[str, Any]) -> None:
    state["state"][0]["momentum"].fill_(torch.nan)


def another_entry(state: dict[str, Any]) -> None:
    state["state"][0]["speed"] = state["state"][0].pop("momentum")


def a_string(state: dict[str, Any]) -> None:
    state["state"][0] = "gone"


def another_decay(state: dict[str, Any]) -> None:
    state["param_groups"][0]["weight_decay"] = 0.5


def nothing(state: dict[str, Any]) -> None:
    state.clear()


@pytest.mark.parametrize(
    ("tamper", "what"),
    [
        (without_groups, r"\(0 groups of parameters instead of 1\)"),
        (other_shape, ""),
        (not_finite, ""),
        (another_entry, ""),
        (a_string, ""),
        (another_decay, r"\(weight_decay is 0\.5 instead of"),
        (nothing, ""),
    ],
)
def test_tampered_optimiser_state_is_one_line(
    tamper: Callable[[dict[str, Any]], None], what: str, tiny_recipe: MakeRecipe, stopped: Run
) -> None:
    (stopped.checkpoints / "step-00000010.pt").unlink()
    path = stopped.checkpoints / "step-00000009.pt"
    content = torch.load(path, weights_only=True)
    tamper(content["optimizer"])
    torch.save(content, path)
    seal(path)  # as somebody would who knows of it
    refusal = f"does not hold the state of this recipe's optimiser.*{what}"
    with pytest.raises(InputError, match=refusal) as e:
        train(tiny_recipe(), stopped.folder, resume=True)
    assert "\n" not in str(e.value)


def test_two_are_kept_and_those_that_were_asked_for(tmp_path: Path) -> None:
    store = small_store(tmp_path, keep_every=4)
    for step in range(2, 13, 2):
        store.save(step, small_state())
    assert sorted(p.name for p in store.folder.iterdir()) == [
        f"step-{step:08d}.pt" for step in (4, 8, 10, 12)
    ]


def test_a_damaged_one_never_pushes_out_a_good_one(tmp_path: Path) -> None:
    for step in (3, 6):
        small_store(tmp_path).save(step, small_state())
    store = small_store(tmp_path)
    flip(store.path(6), 900)
    restored = store.restore()
    assert restored is not None
    assert restored.path == store.path(3)
    store.save(7, small_state())
    assert sorted(p.name for p in store.folder.iterdir()) == [
        "step-00000003.pt",
        "step-00000007.pt",
    ]


def test_training_keeps_checkpoints_along_the_way(tiny_recipe: MakeRecipe, tmp_path: Path) -> None:
    run = train(tiny_recipe("vicreg", "monitor.keep_every=4"), tmp_path / "run")
    assert sorted(p.name for p in run.checkpoints.iterdir()) == [
        f"step-{step:08d}.pt" for step in (4, 8, 9, 10)
    ]
