"""A full disk, or a kill in the middle of a write, costs nothing that was finished."""

import errno
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from sag_vicreg.artifacts import Run, atomic_path
from sag_vicreg.errors import InputError
from sag_vicreg.recipes import Recipe
from sag_vicreg.training import train
from sag_vicreg.training.checkpoint import CheckpointStore

MakeRecipe = Callable[..., Recipe]


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), None])
def test_on_a_full_disk_the_old_checkpoint_survives_and_resumes(
    error: OSError | None,
    tiny_recipe: MakeRecipe,
    finished: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = tmp_path / "full"
    write = torch.save

    def disk_full_at_the_third(content: dict[str, object], path: Path) -> None:
        if content["step"] == 9:
            path.write_bytes(b"half of it")
            # PyTorch's own writer reports a failed write as a RuntimeError.
            raise error or RuntimeError("PytorchStreamWriter failed writing file data/3")
        write(content, path)

    monkeypatch.setattr(torch, "save", disk_full_at_the_third)
    with pytest.raises(InputError, match=r"step-00000006\.pt is kept"):
        train(tiny_recipe(), folder)
    assert sorted(p.name for p in Run(folder).checkpoints.iterdir()) == [
        "step-00000003.pt",
        "step-00000006.pt",
    ]
    monkeypatch.undo()
    run = train(tiny_recipe(), folder, resume=True)
    expected = load_file(finished.backbone)
    for name, tensor in load_file(run.backbone).items():
        assert torch.equal(tensor, expected[name])


def test_a_full_disk_is_one_line_whatever_was_being_written(
    tiny_recipe: MakeRecipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    said = r"cannot write .*x\.txt: No space left on device"
    with pytest.raises(InputError, match=said), atomic_path(tmp_path / "x.txt"):
        full()
    assert not list(tmp_path.iterdir())
    monkeypatch.setattr("csv.writer", full)
    with pytest.raises(InputError, match=r"metrics\.csv \(No space left.*then resume"):
        train(tiny_recipe("vicreg"), tmp_path / "log")
    monkeypatch.undo()
    write = Path.write_bytes

    def full_for_weights(path: Path, content: bytes) -> int:
        if path.suffix == ".safetensors":
            full()
        return write(path, content)

    monkeypatch.setattr(Path, "write_bytes", full_for_weights)
    with pytest.raises(InputError, match=r"cannot write .*backbone\.safetensors: No space left"):
        train(tiny_recipe("vicreg"), tmp_path / "weights")


def test_a_kill_while_the_folder_is_claimed_does_not_lock_it(
    tiny_recipe: MakeRecipe, tmp_path: Path
) -> None:
    run = Run(tmp_path / "run")
    run.folder.mkdir()
    (run.folder / ".recipe-abc123.yaml").write_text("name: sha")
    train(tiny_recipe("vicreg"), run.folder)
    assert not list(run.folder.glob(".recipe-*"))


def test_what_a_killed_writer_left_is_swept_up(tmp_path: Path) -> None:
    run = Run(tmp_path)
    store = CheckpointStore(run, "0" * 16)
    store.save(3, {"method": {}, "optimizer": {}})
    (run.checkpoints / ".step-00000006-x1.pt").write_bytes(b"half")
    assert store.newest() == store.path(3)
    store.sweep()
    assert [p.name for p in run.checkpoints.iterdir()] == ["step-00000003.pt"]


def test_a_full_disk_under_tensorboard_is_one_line(
    tiny_recipe: MakeRecipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("torch.utils.tensorboard.SummaryWriter.add_scalar", full)
    with pytest.raises(InputError, match=r"cannot write .*tensorboard \(No space left.*resume"):
        train(tiny_recipe("vicreg"), tmp_path / "run")
