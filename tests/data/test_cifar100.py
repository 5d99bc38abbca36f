"""CIFAR-100's three layouts, as far as they can be had without the real thing."""

import io
import pickle
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from PIL import Image
from torchvision.datasets import CIFAR100
from torchvision.datasets.utils import calculate_md5

from sag_vicreg.data import load_dataset
from sag_vicreg.data.shapes import draw_shapes
from sag_vicreg.data.sources.cifar100 import download_cifar100
from sag_vicreg.errors import InputError
from sag_vicreg.hierarchy import load_hierarchy


def png(image: Image.Image) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return buffer.getvalue()


@pytest.fixture
def small_cifar(monkeypatch: pytest.MonkeyPatch) -> tuple[np.ndarray, np.ndarray]:
    """Two images a class, and a CIFAR-100 that is content with them."""
    monkeypatch.setattr("sag_vicreg.data.sources.cifar100.SIZES", {"train": 200, "test": 200})
    images, _ = draw_shapes("test", classes=range(4), per_class=50)
    return images, np.arange(200) % 100


class Ran:
    """Leaves a mark when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[object, ...]:
        return (Path.touch, (self.mark,))


def write_pickles(root: Path, images: np.ndarray, labels: np.ndarray) -> None:
    folder = root / "cifar-100-python"
    folder.mkdir(parents=True)
    content = {"data": images.reshape(len(images), -1), "fine_labels": labels.tolist()}
    names = {"fine_label_names": list(load_hierarchy("cifar100").classes)}
    for name, value in (("train", content), ("test", content), ("meta", names)):
        (folder / name).write_bytes(pickle.dumps(value))


def test_pickles_are_not_opened_unless_their_checksums_match(
    tmp_path: Path, small_cifar: tuple[np.ndarray, np.ndarray]
) -> None:
    write_pickles(tmp_path, *small_cifar)
    mark = tmp_path / "ran"
    for name in ("train", "test", "meta"):
        (tmp_path / "cifar-100-python" / name).write_bytes(pickle.dumps(Ran(mark)))
    with pytest.raises(InputError, match="published checksums, so it was not opened"):
        load_dataset("cifar100", root=tmp_path)
    assert not mark.exists()
    # The trap works.
    pickle.loads((tmp_path / "cifar-100-python" / "train").read_bytes())
    assert mark.exists()


def test_pickles_parquet_and_folders_hold_the_same_images(
    tmp_path: Path,
    small_cifar: tuple[np.ndarray, np.ndarray],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    images, labels = small_cifar
    names = load_hierarchy("cifar100").classes
    write_pickles(tmp_path / "pickles", images, labels)
    sums = {
        name: calculate_md5(tmp_path / "pickles" / "cifar-100-python" / name)
        for name in ("train", "test", "meta")
    }
    monkeypatch.setattr(CIFAR100, "train_list", [["train", sums["train"]]])
    monkeypatch.setattr(CIFAR100, "test_list", [["test", sums["test"]]])
    monkeypatch.setattr(CIFAR100, "meta", CIFAR100.meta | {"md5": sums["meta"]})
    cells = []
    for place, (image, label) in enumerate(zip(images, labels, strict=True)):
        drawn = Image.fromarray(image.transpose(1, 2, 0))
        cells.append(png(drawn))
        path = tmp_path / "folders" / "train" / names[label] / f"{place:04d}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        drawn.save(path)
    (tmp_path / "hub" / "cifar100").mkdir(parents=True)
    table = pa.table({"img": cells, "fine_label": labels})
    pq.write_table(table, tmp_path / "hub" / "cifar100" / "train-00000-of-00001.parquet")

    pickled = load_dataset("cifar100", root=tmp_path / "pickles")
    parquet = load_dataset("cifar100", root=tmp_path / "hub")
    folders = load_dataset("cifar100", root=tmp_path / "folders")
    assert torch.equal(pickled.images, torch.from_numpy(images))
    assert torch.equal(parquet.images, pickled.images)
    assert torch.equal(parquet.labels, pickled.labels)
    assert parquet.ids == pickled.ids
    assert pickled.class_names == parquet.class_names == folders.class_names == names
    order = np.argsort(labels, kind="stable")
    assert torch.equal(folders.images, pickled.images[order])
    assert torch.equal(folders.labels, pickled.labels[order])
    larger = load_dataset("cifar100", root=tmp_path / "pickles", image_size=48)
    assert larger.images.shape == (200, 3, 48, 48)


def test_half_of_cifar100_is_refused(
    tmp_path: Path, small_cifar: tuple[np.ndarray, np.ndarray]
) -> None:
    cells = [png(Image.new("RGB", (32, 32))) for _ in range(3)]
    pq.write_table(pa.table({"img": cells, "fine_label": [0, 1, 2]}), tmp_path / "train.parquet")
    with pytest.raises(
        InputError, match="holds 3 train images in 3 classes instead of CIFAR-100's"
    ):
        load_dataset("cifar100", root=tmp_path)
    with pytest.raises(InputError, match="half of the dataset is missing"):
        load_dataset("cifar100", root=tmp_path, split="test")


def test_a_download_without_a_network_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_network(*args: object, **kwargs: object) -> None:
        raise OSError("Network is unreachable")

    monkeypatch.setattr("torchvision.datasets.cifar.download_and_extract_archive", no_network)
    with pytest.raises(InputError, match=r"cannot download cifar100 to .*: Network is unreachable"):
        download_cifar100(tmp_path / "new")
