"""What comes out: a backbone plain timm loads, and embeddings with ids and labels."""

import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn
from typer.testing import CliRunner

from sag_vicreg.artifacts import Run, read_embeddings, read_thumbnails
from sag_vicreg.cli import app
from sag_vicreg.data import load_dataset
from sag_vicreg.errors import InputError
from sag_vicreg.methods.backbone import evaluating
from sag_vicreg.recipes import load_recipe
from sag_vicreg.training import embed
from sag_vicreg.training.encoder import encoder_of_run, encoder_of_timm, load_weights

PLAIN_TIMM = """
import json, sys, torch
OPERATORS
import timm
from safetensors.torch import load_file
folder, images, out = sys.argv[1:]
config = json.load(open(folder + "/config.json"))
by_hand = timm.create_model(config["architecture"], num_classes=0, **config["model_args"])
by_hand.load_state_dict(load_file(folder + "/backbone.safetensors"))
by_timm = timm.create_model("local-dir:" + folder, pretrained=True)
images = torch.load(images, weights_only=True).float().div(255)
cfg = by_timm.pretrained_cfg
mean, std = (torch.tensor(cfg[name])[:, None, None] for name in ("mean", "std"))
images = (images - mean) / std
with torch.no_grad():
    a, b = by_hand.eval()(images), by_timm.eval()(images)
assert torch.equal(a, b)
assert not any(name.startswith("sag_vicreg") for name in sys.modules)
torch.save(a, out)
"""
# Beside a CPU torch PyPI's torchvision does not import; what declares its operators is ours.
OPERATORS = """
library = torch.library.Library("torchvision", "FRAGMENT")
for name in ("nms", "qnms"):
    if not hasattr(torch.ops.torchvision, name):
        library.define(name + "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
"""


def test_plain_timm_loads_the_backbone_without_this_package(finished: Run, tmp_path: Path) -> None:
    test = load_dataset("shapes", split="test", max_images=8)
    torch.save(test.images, tmp_path / "images.pt")
    code = PLAIN_TIMM.replace("OPERATORS", OPERATORS)
    arguments = [str(finished.folder), str(tmp_path / "images.pt"), str(tmp_path / "out.pt")]
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    ours = embed(finished.folder, dataset="shapes", max_images=8, batch_size=3)
    theirs = torch.load(tmp_path / "out.pt", weights_only=True).numpy()
    np.testing.assert_allclose(ours.vectors, theirs, rtol=1e-4, atol=1e-5)


def test_embeddings_have_ids_labels_and_thumbnails_beside_them(
    finished: Run, tmp_path: Path
) -> None:
    out = tmp_path / "e" / "test.parquet"
    embeddings = embed(finished.folder, dataset="shapes", classes="second", max_images=30, out=out)
    images = load_dataset("shapes", split="test", classes="second", max_images=30)
    stored = read_embeddings(out)
    np.testing.assert_array_equal(stored.vectors, embeddings.vectors)
    assert stored.ids is not None
    assert stored.labels is not None
    assert stored.ids.tolist() == images.ids
    assert stored.labels.tolist() == images.label_names()
    thumbnails = read_thumbnails(out.parent / "thumbnails.parquet")
    assert list(thumbnails) == images.ids
    assert all(data[8:12] == b"WEBP" for data in thumbnails.values())
    embed(
        finished.folder, dataset="shapes", split="train", max_images=5, out=tmp_path / "e/t.parquet"
    )
    assert len(read_thumbnails(out.parent / "thumbnails.parquet")) == 35


def test_other_images_go_to_another_file_and_the_split_is_the_runs_own(
    finished: Run, tmp_path: Path
) -> None:
    run = Run(shutil.copytree(finished.folder, tmp_path / "run"))
    recipe = load_recipe(run.recipe)
    seeded = recipe.model_copy(update={"dataset": recipe.dataset.model_copy(update={"seed": 3})})
    run.recipe.write_text(seeded.to_yaml())
    shutil.rmtree(run.embeddings, ignore_errors=True)
    asked = ["embed", str(run.folder), "--dataset", "shapes", "--max-images", "48"]
    for options in ([], ["--seed", "0"], ["--split", "train"]):
        assert CliRunner().invoke(app, [*asked, *options]).exit_code == 0
    names = [file.path.name for file in run.embedding_files()]
    assert names == [
        "shapes-test-all-48-seed3.parquet",
        "shapes-test-all-48.parquet",
        "shapes-train-all-48-seed3.parquet",
    ]
    own = read_embeddings(run.embeddings / names[0])
    assert own.ids is not None
    images = load_dataset("shapes", split="test", max_images=48, seed=3)
    assert own.ids.tolist() == images.ids
    from_python = embed(run.folder, dataset="shapes", max_images=48)
    assert from_python.ids is not None
    assert from_python.ids.tolist() == images.ids


def test_a_norm_beside_the_classifier_is_kept(tmp_path: Path) -> None:
    from sag_vicreg import torchvision_ops as torchvision_ops
    from sag_vicreg.methods import make_backbone

    model = make_backbone("convnext_atto")
    torch.nn.init.normal_(model.get_parameter("head.norm.weight"))
    state = model.state_dict() | {"head.fc.weight": torch.zeros(10, 320)}
    save_file(state, tmp_path / "weights.safetensors")
    found = encoder_of_timm(
        "convnext_atto", pretrained=False, weights=tmp_path / "weights.safetensors", image_size=32
    )
    assert torch.equal(
        found.backbone.get_parameter("head.norm.weight"), model.get_parameter("head.norm.weight")
    )


def test_the_batch_size_does_not_change_an_embedding(finished: Run) -> None:
    few, many = (
        embed(finished.folder, dataset="shapes", max_images=20, batch_size=n).vectors
        for n in (3, 20)
    )
    np.testing.assert_allclose(few, many, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("content", [b"", b"hello, I am text", b"b", b"\x80\x02.", b"PK\x03\x04"])
def test_a_file_that_holds_no_weights_is_one_line(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "weights.pt"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        embed("resnet10t", dataset="shapes", max_images=4, image_size=32, weights=path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_timm_name_with_weights_from_a_file(finished: Run, tmp_path: Path) -> None:
    from sag_vicreg.methods import make_backbone

    torch.manual_seed(0)
    weights = make_backbone("resnet10t").state_dict()
    save_file(weights, tmp_path / "w.safetensors")
    torch.save({"state_dict": weights | {"fc.weight": torch.zeros(2, 2)}}, tmp_path / "w.pt")
    a, b = (
        embed(
            "resnet10t", dataset="shapes", max_images=4, image_size=32, weights=tmp_path / name
        ).vectors
        for name in ("w.safetensors", "w.pt")
    )
    np.testing.assert_array_equal(a, b)
    with pytest.raises(InputError, match="another architecture"):
        embed("resnet10t", dataset="shapes", max_images=4, weights=finished.backbone)
    torch.save({"epoch": 3}, tmp_path / "odd.pt")
    with pytest.raises(InputError, match="holds no state dict"):
        embed("resnet10t", dataset="shapes", max_images=4, weights=tmp_path / "odd.pt")
    with pytest.raises(InputError, match="cannot read weights"):
        embed("resnet10t", dataset="shapes", max_images=4, weights=tmp_path / "missing.safetensors")
    with pytest.raises(InputError, match="brings its own weights"):
        embed(finished.folder, dataset="shapes", weights=tmp_path / "w.pt")


def test_evaluation_mode_is_put_back_layer_by_layer() -> None:
    model = torch.nn.Sequential(torch.nn.BatchNorm1d(3), torch.nn.Dropout())
    model[0].eval()
    with evaluating(model):
        assert not any(layer.training for layer in model.modules())
    assert (model.training, model[0].training, model[1].training) == (True, False, True)


def test_the_export_is_the_last_checkpoints_backbone(finished: Run) -> None:
    checkpoint = torch.load(max(finished.checkpoints.iterdir()), weights_only=True)
    for name, tensor in load_file(finished.backbone).items():
        assert torch.equal(tensor, checkpoint["method"][f"backbone.{name}"])


def test_config_holds_what_a_user_needs(finished: Run) -> None:
    config = json.loads(finished.config.read_text())
    assert config["architecture"] == "resnet18"
    assert config["pretrained_cfg"]["input_size"] == [3, 32, 32]
    assert encoder_of_run(finished).image_size == 32


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("resnet_50", "did you mean 'resnet50"),
        ("empty", "is not a run folder"),
        ("unfinished", "is not finished"),
        ("broken", "is not the description of a backbone"),
    ],
)
def test_a_source_that_is_none(
    source: str, message: str, finished: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("empty", "unfinished", "broken"):
        Path(name).mkdir()
    for name in ("unfinished", "broken"):
        Path(name, "recipe.yaml").write_text(finished.recipe.read_text())
    Path("broken", "backbone.safetensors").write_bytes(finished.backbone.read_bytes())
    Path("broken", "config.json").write_text('{"architecture": "resnet18"}')
    with pytest.raises(InputError, match=message):
        embed(source, dataset="shapes", max_images=4)


def test_pretrained_weights_that_cannot_be_had_are_one_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import timm

    def offline(*args: object, **kwargs: object) -> None:
        raise OSError("no route to host\nand more")

    monkeypatch.setattr(timm, "create_model", offline)
    with pytest.raises(InputError, match="give the file as weights"):
        embed("resnet18", dataset="shapes", pretrained=True)
    monkeypatch.undo()
    with pytest.raises(InputError, match="no device 'quantum'"):
        embed("resnet18", dataset="shapes", device="quantum")


def test_the_same_weights_are_the_same_bytes(finished: Run, tmp_path: Path) -> None:
    from sag_vicreg.training.export import export_backbone
    from sag_vicreg.training.restore import restore_method

    recipe = load_recipe(finished.recipe)
    other = Run(tmp_path)
    export_backbone(other, restore_method(finished, recipe), recipe)
    assert other.backbone.read_bytes() == finished.backbone.read_bytes()
    assert other.config.read_bytes() == finished.config.read_bytes()
    checksum = hashlib.sha256(finished.backbone.read_bytes()).hexdigest()
    assert json.loads(finished.config.read_text())["sag_vicreg"]["sha256"] == checksum


def test_a_damaged_backbone_is_refused_and_can_be_exported_again(
    finished: Run, tmp_path: Path
) -> None:
    run = Run(shutil.copytree(finished.folder, tmp_path / "run"))
    content = bytearray(run.backbone.read_bytes())
    content[-5] ^= 1
    run.backbone.write_bytes(content)
    with pytest.raises(InputError, match=r"is damaged: its SHA-256.*train --resume"):
        embed(run.folder, dataset="shapes", max_images=4)
    run.backbone.unlink()
    assert CliRunner().invoke(app, ["train", "--resume", str(run.folder)]).exit_code == 0
    assert run.backbone.read_bytes() == finished.backbone.read_bytes()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("mean", [0.5, 0.5]),
        ("mean", [0.5, 0.5, "a"]),
        ("mean", [0.5, 0.5, float("nan")]),
        ("std", [1.0, 0.0, 1.0]),
        ("std", [1.0, -1.0, 1.0]),
        ("std", [1.0, float("inf"), 1.0]),
        ("std", None),
        ("input_size", [1, 32, 32]),
        ("input_size", [3, 32, 0]),
        ("input_size", [3, 32, 1e9]),
        ("input_size", 32),
    ],
)
def test_pixels_that_no_backbone_takes_are_refused(
    key: str, value: object, finished: Run, tmp_path: Path
) -> None:
    run = Run(shutil.copytree(finished.folder, tmp_path / "run"))
    config = json.loads(run.config.read_text())
    config["pretrained_cfg"][key] = value
    run.config.write_text(json.dumps(config))
    with pytest.raises(InputError, match=r"config\.json") as caught:
        embed(run.folder, dataset="shapes", max_images=4)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", ["", "[]", "{" * 5000, "null", '{"architecture": 3}', "\x00"])
def test_a_config_that_is_none_is_one_line(content: str, finished: Run, tmp_path: Path) -> None:
    run = Run(shutil.copytree(finished.folder, tmp_path / "run"))
    run.config.write_text(content)
    with pytest.raises(InputError, match=r"config\.json") as caught:
        encoder_of_run(run)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "change",
    [
        lambda weight: weight.to_sparse(),
        lambda weight: weight.to("meta"),
        lambda weight: torch.quantize_per_tensor(weight, 0.1, 0, torch.qint8),
        lambda weight: weight.to(torch.complex64),
        lambda weight: weight.to(torch.int8),
    ],
    ids=["sparse", "meta", "quantised", "complex", "int8"],
)
@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
def test_weights_of_another_kind_are_refused(change: Any, tmp_path: Path) -> None:
    backbone = nn.Linear(3, 2)
    torch.save(backbone.state_dict() | {"weight": change(torch.ones(2, 3))}, tmp_path / "w.pt")
    with pytest.raises(InputError, match=r"weight as plain numbers of torch\.float32"):
        load_weights(backbone, tmp_path / "w.pt")
    torch.save(backbone.half().state_dict(), tmp_path / "w.pt")  # which is rounded, and meant
    load_weights(backbone, tmp_path / "w.pt")


def test_weights_that_are_no_numbers_are_refused(tmp_path: Path) -> None:
    from sag_vicreg.methods import make_backbone

    weights = make_backbone("resnet10t").state_dict()
    weights["layer1.0.conv1.weight"][0, 0, 0, 0] = torch.nan
    save_file(weights, tmp_path / "w.safetensors")
    with pytest.raises(InputError, match=r"NaN or infinite weights, in layer1\.0\.conv1\.weight"):
        embed(
            "resnet10t",
            dataset="shapes",
            max_images=4,
            image_size=32,
            weights=tmp_path / "w.safetensors",
        )
    # Finite, and too large to compute with.
    weights["layer1.0.conv1.weight"].fill_(3e38)
    save_file(weights, tmp_path / "w.safetensors")
    with pytest.raises(InputError, match="NaN or infinite values for 4 of 4 images"):
        embed(
            "resnet10t",
            dataset="shapes",
            max_images=4,
            image_size=32,
            weights=tmp_path / "w.safetensors",
        )
    torch.save({3: torch.zeros(2)}, tmp_path / "odd.pt")
    with pytest.raises(InputError, match="holds no state dict"):
        embed("resnet10t", dataset="shapes", max_images=4, weights=tmp_path / "odd.pt")


def test_the_hub_layout_loads_in_timm_and_has_a_card(finished: Run, tmp_path: Path) -> None:
    import timm
    import yaml

    out = tmp_path / "hub"
    command = ["export", str(finished.folder), "--out", str(out)]
    assert CliRunner().invoke(app, command).exit_code == 0
    assert {path.name for path in out.iterdir()} == {
        "README.md",
        "config.json",
        "model.safetensors",
    }
    _, front, body = (out / "README.md").read_text().split("---\n", 2)
    assert yaml.safe_load(front)["library_name"] == "timm"
    assert hashlib.sha256((out / "model.safetensors").read_bytes()).hexdigest() in body
    model = timm.create_model(f"local-dir:{out}", pretrained=True)
    for name, tensor in load_file(finished.backbone).items():
        assert torch.equal(model.state_dict()[name], tensor)
    again = CliRunner().invoke(app, command)
    assert again.exit_code == 2
    assert "is not an empty folder" in again.stderr
