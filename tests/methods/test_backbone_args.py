"""Arguments of a backbone come from files of others: they shape it, and load nothing."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

from sag_vicreg.artifacts import Run
from sag_vicreg.errors import InputError
from sag_vicreg.methods import make_backbone
from sag_vicreg.methods.backbone import shaping_arguments
from sag_vicreg.recipes import load_recipe
from sag_vicreg.training import embed, train


class Mark:
    """Leaves a mark when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, (f"touch {self.path}",)


@pytest.fixture
def payload(tmp_path: Path) -> tuple[Path, Path]:
    """A checkpoint that leaves a mark, and the mark."""
    torch.save({"state_dict": Mark(tmp_path / "mark")}, tmp_path / "payload.pth")
    return tmp_path / "payload.pth", tmp_path / "mark"


def test_the_payload_works(payload: tuple[Path, Path]) -> None:
    """Else the tests below would prove nothing."""
    file, mark = payload
    torch.load(file, weights_only=False)
    assert mark.exists()


LOADING = ("checkpoint_path", "pretrained", "pretrained_cfg", "pretrained_cfg_overlay", "cache_dir")


@pytest.mark.parametrize("argument", LOADING)
def test_a_recipe_cannot_make_timm_load_anything(
    argument: str,
    payload: tuple[Path, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import timm

    file, mark = payload
    given: dict[str, Any] = {
        "checkpoint_path": str(file),
        "pretrained": True,
        "pretrained_cfg": {"file": str(file)},
        "pretrained_cfg_overlay": {"file": str(file)},
        "cache_dir": str(tmp_path),
    }
    asked: list[dict[str, Any]] = []
    create = timm.create_model

    def note(name: str, **arguments: Any) -> torch.nn.Module:
        asked.append(arguments)
        model: torch.nn.Module = create(name, **arguments)
        return model

    monkeypatch.setattr(timm, "create_model", note)
    override = f"backbone.args.{argument}={json.dumps(given[argument])}"
    recipe = load_recipe("shapes/vicreg", scale="smoke", overrides=[override])
    with pytest.raises(InputError, match=f"does not take backbone.args.{argument}, only what"):
        train(recipe, tmp_path / "run")
    assert not any(argument in arguments for arguments in asked)
    assert not mark.exists()
    assert not (tmp_path / "run").exists()


def test_a_run_folder_cannot_either(payload: tuple[Path, Path], tmp_path: Path) -> None:
    file, mark = payload
    recipe = load_recipe(
        "shapes/vicreg",
        scale="smoke",
        overrides=["schedule.steps=1", "dataset.max_images=200", "monitor.probe_images=20"],
    )
    run = train(recipe, tmp_path / "run")
    for argument, value in {"checkpoint_path": str(file), "pretrained": True}.items():
        hostile = Run(shutil.copytree(run.folder, tmp_path / argument))
        config = json.loads(hostile.config.read_text())
        config["model_args"][argument] = value
        hostile.config.write_text(json.dumps(config))
        with pytest.raises(InputError, match=f"does not take backbone.args.{argument}"):
            embed(hostile.folder, dataset="shapes", max_images=4)
    assert not mark.exists()


def test_what_shapes_a_model_is_what_its_constructor_takes() -> None:
    vit = shaping_arguments("vit_tiny_patch16_224")
    assert {"img_size", "patch_size", "class_token", "drop_path_rate"} <= vit
    assert {"layers", "channels", "stem_width"} <= shaping_arguments("resnet18")
    for name in ("resnet18", "vit_tiny_patch16_224", "convnext_atto", "regnetx_002", "levit_128"):
        assert not shaping_arguments(name) & {*LOADING, "model_name", "num_classes", "device"}


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ({"drop_path_rate": 2.0}, "drop with probability"),
        ({"channels": [64, 128, 256, 10_000_000]}, "parameters, which need"),
        ({"layers": "many"}, "does not take"),
    ],
)
def test_a_model_that_cannot_work_is_refused_before_it_takes_memory(
    args: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message) as caught:
        make_backbone("resnet18", args)
    assert "\n" not in str(caught.value)


def test_the_trial_moves_no_generator() -> None:
    import timm

    torch.manual_seed(3)
    tried = make_backbone("resnet10t").state_dict()
    torch.manual_seed(3)
    plain = timm.create_model("resnet10t", num_classes=0).state_dict()
    assert all(torch.equal(tried[name], plain[name]) for name in plain)
