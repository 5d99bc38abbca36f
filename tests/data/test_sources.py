"""Folders and parquet files: read alike, and refused when broken."""

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset

from sag_vicreg.data import ImageDataset, dataset_names, decode, load_dataset, make_views
from sag_vicreg.data import catalog as catalog_module
from sag_vicreg.data.encoded import EncodedImages, Files
from sag_vicreg.errors import InputError
from sag_vicreg.hierarchy import load_hierarchy

# Of the `folder` fixture.
CLASSES = ("ant", "bee", "cat", "dog")


def picture(seed: int, size: tuple[int, int] = (20, 16)) -> Image.Image:
    rng = np.random.default_rng(seed)
    return Image.fromarray(rng.integers(0, 256, (*size[::-1], 3), dtype=np.uint8))


def encoded(image: Image.Image, path: Path, suffix: str = ".png") -> bytes:
    file = path / f"picture{suffix}"
    image.save(file)
    return file.read_bytes()


# What every source gives.


def test_folders_without_a_split_are_split_by_seed(folder: Path) -> None:
    name = f"folder:{folder}"
    train, test, every = (load_dataset(name, split=split) for split in ("train", "test", "all"))
    assert train.class_names == CLASSES
    assert train.images.shape == (32, 3, 16, 16)
    assert np.bincount(test.labels).tolist() == [2, 2, 2, 2]
    assert sorted(train.ids + test.ids) == sorted(every.ids)
    assert every.ids[:2] == ["ant/0.png", "ant/1.png"]
    assert load_dataset(name, seed=1).ids != train.ids
    assert load_dataset(name).ids == train.ids


def test_folders_with_a_split_keep_it(folder: Path) -> None:
    for split, classes in (("train", CLASSES), ("val", CLASSES)):
        (folder / split).mkdir()
        for name in classes:
            source = folder / name
            (folder / split / name).mkdir()
            picture(len(split)).save(folder / split / name / "0.png")
            if split == "val":
                for file in source.iterdir():
                    file.unlink()
                source.rmdir()
    test = load_dataset(f"folder:{folder}", split="test")
    assert test.ids == [f"val/{name}/0.png" for name in CLASSES]
    with pytest.raises(InputError, match="comes as train and test"):
        load_dataset(f"folder:{folder}", split="all")


@pytest.mark.parametrize("kind", ["folder", "parquet"])
def test_a_class_is_the_same_in_train_and_test(tmp_path: Path, kind: str) -> None:
    for split, classes in (("train", CLASSES), ("test", CLASSES[2:])):
        images = [picture(place) for place in range(len(classes))]
        if kind == "folder":
            for image, name in zip(images, classes, strict=True):
                (tmp_path / split / name).mkdir(parents=True)
                image.save(tmp_path / split / name / "0.png")
        else:
            cells = [encoded(image, tmp_path) for image in images]
            table = pa.table({"image": cells, "label": classes})
            pq.write_table(table, tmp_path / f"{split}.parquet")
    train, test = (load_dataset(f"{kind}:{tmp_path}", split=split) for split in ("train", "test"))
    assert train.class_names == test.class_names == CLASSES
    assert test.labels.tolist() == [2, 3]
    assert not set(train.ids) & set(test.ids)
    halves = [
        load_dataset(f"{kind}:{tmp_path}", split=split, classes="second").label_names()
        for split in ("train", "test")
    ]
    assert halves[0] == halves[1] == ["cat", "dog"]


def test_unlabelled_folders_are_one_class(tmp_path: Path) -> None:
    for place in range(5):
        picture(place).save(tmp_path / f"{place}.png")
    data = load_dataset(f"folder:{tmp_path}", split="all")
    assert data.class_names == ("unlabelled",)
    assert data.ids == [f"{place}.png" for place in range(5)]


@pytest.mark.parametrize("column", ["struct", "binary"])
@pytest.mark.parametrize("labels", ["names", "numbers", "hub", "none"])
def test_parquet_in_its_layouts(tmp_path: Path, column: str, labels: str) -> None:
    images = [encoded(picture(place), tmp_path) for place in range(8)]
    numbers = [place % 4 for place in range(8)]
    cells = [{"bytes": data, "path": None} for data in images] if column == "struct" else images
    table = pa.table({"image": cells})
    if labels == "names":
        table = table.append_column("label", [[CLASSES[number] for number in numbers]])
    elif labels != "none":
        table = table.append_column("label", [numbers])
    if labels == "hub":
        features = f'{{"info": {{"features": {{"label": {{"names": {list(CLASSES)}}}}}}}}}'
        table = table.replace_schema_metadata({"huggingface": features.replace("'", '"')})
    path = tmp_path / "pets.parquet"
    pq.write_table(table, path)
    data = load_dataset(f"parquet:{path}", split="all", image_size=16)
    expected = {
        "names": CLASSES,
        "hub": CLASSES,
        "numbers": ("0", "1", "2", "3"),
        "none": ("unlabelled",),
    }
    assert data.class_names == expected[labels]
    assert data.labels.tolist() == ([0] * 8 if labels == "none" else numbers)
    by_hand = np.asarray(picture(3).crop((2, 0, 18, 16)))
    assert torch.equal(data.images[3], torch.from_numpy(by_hand.copy()).permute(2, 0, 1))


def test_parquet_folder_of_many_files(tmp_path: Path) -> None:
    for split, parts in (("train", 2), ("test", 1)):
        for part in range(parts):
            images = [encoded(picture(place), tmp_path) for place in range(4)]
            table = pa.table({"img": images, "fine_label": [0, 1, 2, 3]})
            pq.write_table(table, tmp_path / f"{split}-{part:05d}-of-{parts:05d}.parquet")
    train = load_dataset(f"parquet:{tmp_path}")
    assert len(train) == 8
    assert len(set(train.ids)) == 8
    assert len(load_dataset(f"parquet:{tmp_path}", split="test")) == 4
    (tmp_path / "train-00000-of-00002.parquet").unlink()
    with pytest.raises(InputError, match="has 1 of 2 train files: half a dataset"):
        load_dataset(f"parquet:{tmp_path}")


def test_validation_images_are_no_test_images(tmp_path: Path) -> None:
    for place, split in enumerate(("train-0-of-1", "validation-0-of-1", "test-0-of-1")):
        images = [encoded(picture(place), tmp_path)] * (place + 1)
        pq.write_table(
            pa.table({"img": images, "label": [0] * (place + 1)}), tmp_path / f"{split}.parquet"
        )
    assert len(load_dataset(f"parquet:{tmp_path}", split="test")) == 3
    (tmp_path / "test-0-of-1.parquet").unlink()
    assert len(load_dataset(f"parquet:{tmp_path}", split="test")) == 2


def test_parquet_in_many_pieces_is_read_in_order(tmp_path: Path) -> None:
    images = [encoded(picture(place), tmp_path) for place in range(8)]
    types = (pa.int64(), pa.int32())
    for part, kind in enumerate(types):
        cells = [{"bytes": data, "path": None} for data in images[4 * part : 4 * part + 4]]
        labels = pa.array([0, 1, 2, 3], kind)
        # Row groups of three: pieces that end within a file, and others that end with it.
        pq.write_table(
            pa.table({"image": cells, "label": labels}),
            tmp_path / f"part{part}.parquet",
            row_group_size=3,
        )
    data = load_dataset(f"parquet:{tmp_path}", split="all", image_size=16)
    assert data.labels.tolist() == [0, 1, 2, 3, 0, 1, 2, 3]
    for place in range(8):
        by_hand = np.asarray(picture(place).crop((2, 0, 18, 16)))
        assert torch.equal(data.images[place], torch.from_numpy(by_hand.copy()).permute(2, 0, 1))


@pytest.mark.parametrize("mode", ["L", "P", "RGBA", "CMYK", "1", "LA", "I;16"])
def test_any_mode_becomes_rgb(tmp_path: Path, mode: str) -> None:
    grey = np.tile(np.linspace(0, 255, 16).astype(np.uint8), (16, 1))
    (tmp_path / "c").mkdir()
    if mode == "I;16":
        Image.fromarray(grey.astype(np.uint16) * 257).save(tmp_path / "c" / "0.png")
    else:
        suffix = ".tif" if mode == "CMYK" else ".png"
        picture = Image.fromarray(grey).convert("RGB")
        picture.convert(mode, dither=Image.Dither.NONE).save(tmp_path / "c" / f"0{suffix}")
    data = load_dataset(f"folder:{tmp_path}", split="all")
    if mode == "1":
        grey = np.where(grey > 127, 255, 0).astype(np.uint8)
    expected = torch.from_numpy(grey).expand(1, 3, 16, 16)
    tolerance = {"P": 40}.get(mode, 1)
    assert data.images.shape == expected.shape
    assert (data.images.int() - expected.int()).abs().max() <= tolerance
    assert data.images.max() > 200


def test_digits() -> None:
    data = load_dataset("digits", split="all")
    assert data.images.shape == (1797, 3, 32, 32)
    assert load_dataset("digits", split="all", image_size=8).images.shape[-1] == 8
    # Every image's digit is what scikit-learn says; the zero is open in its middle.
    zero = data.images[data.labels == 0].float().mean(dim=0)[0]
    assert zero[15:17, 15:17].mean() < 0.3 * zero.max()


# Splits by class.


def test_halves_share_no_class_and_no_image() -> None:
    first, second = (
        load_dataset("shapes", split="test", classes=half) for half in ("first", "second")
    )
    assert set(first.labels.tolist()) == set(range(24))
    assert set(second.labels.tolist()) == set(range(24, 48))
    assert not set(first.ids) & set(second.ids)
    assert first.class_names == second.class_names == load_hierarchy("shapes").classes
    whole = load_dataset("shapes", split="test")
    assert torch.equal(torch.cat([first.images, second.images]), whole.images)


def test_classes_by_list_keep_the_datasets_labels(folder: Path) -> None:
    by_name = load_dataset(f"folder:{folder}", classes=["dog", "bee"])
    assert set(by_name.labels.tolist()) == {1, 3}
    assert by_name.class_names == CLASSES
    assert by_name.ids == load_dataset(f"folder:{folder}", classes=[3, 1]).ids
    assert set(by_name.label_names()) == {"bee", "dog"}


def test_subsets_are_balanced_seeded_and_nested_in_the_whole(folder: Path) -> None:
    name = f"folder:{folder}"
    some = load_dataset(name, max_images=10)
    assert sorted(np.bincount(some.labels).tolist()) == [2, 2, 3, 3]
    assert some.ids == load_dataset(name, max_images=10).ids
    assert some.ids != load_dataset(name, max_images=10, seed=5).ids
    whole = load_dataset(name)
    places = [whole.ids.index(name) for name in some.ids]
    assert places == sorted(places)
    assert torch.equal(some.images, whole.images[places])
    assert torch.equal(whole.select(places).images, some.images)


# In memory, on disk, in the cache.


def test_on_disk_gives_the_same_images(folder: Path) -> None:
    here = load_dataset(f"folder:{folder}", image_size=12)
    there = load_dataset(f"folder:{folder}", image_size=12, resident=False)
    assert here.resident
    assert not there.resident
    assert torch.equal(here.batch([3, 0, 9]), there.batch(torch.tensor([3, 0, 9])))
    assert torch.equal(here.batch([3, 1]), there.select([3, 1]).batch([0, 1]))
    with pytest.raises(InputError, match="not held in memory"):
        _ = there.images


def test_what_does_not_fit_stays_on_disk(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog_module, "RESIDENT_LIMIT", 32 * 3 * 16 * 16 - 1)
    assert not load_dataset(f"folder:{folder}").resident
    assert load_dataset(f"folder:{folder}", image_size=15).resident
    assert load_dataset(f"folder:{folder}", resident=True).resident
    with pytest.raises(InputError, match="digits at 32 px does not fit in memory"):
        load_dataset("digits")


def test_crops_cut_while_decoding_use_the_whole_picture(folder: Path) -> None:
    """Pictures wider than high: views see what the centre square leaves out."""
    data = load_dataset(f"folder:{folder}", resident=False)
    views = make_views("crop", 8)
    generator = torch.Generator().manual_seed(0)
    draws = views.draw(len(data), generator)
    boxes = draws[0].crop.boxes(16, 20)
    assert (boxes[:, 1] + boxes[:, 3]).max() > 18
    (crops,) = data.crops(range(len(data)), draws)
    assert data.encoded is not None
    for row in (0, 5):
        top, left, height, width = boxes[row].tolist()
        part = data.encoded.open(row).crop((left, top, left + width, top + height))
        expected = np.asarray(part.resize((8, 8), Image.Resampling.BICUBIC))
        assert torch.equal(crops[row].permute(1, 2, 0), torch.from_numpy(expected.copy()))


class Steps(Dataset[list[torch.Tensor]]):
    """What a training loop's workers do: draw for a step from its number, cut, hand over."""

    def __init__(self, data: ImageDataset) -> None:
        self.data, self.views = data, make_views("vicreg", 12)

    def __len__(self) -> int:
        return 4

    def __getitem__(self, step: int) -> list[torch.Tensor]:
        draws = self.views.draw(8, torch.Generator().manual_seed(step))
        return self.data.crops(range(8 * step, 8 * step + 8), draws)


def test_the_number_of_workers_changes_nothing(folder: Path) -> None:
    steps = Steps(load_dataset(f"folder:{folder}", resident=False))
    alone, shared = (
        list(DataLoader(steps, batch_size=None, num_workers=workers)) for workers in (0, 2)
    )
    assert len(alone) == len(shared) == 4
    for here, there in zip(alone, shared, strict=True):
        assert all(torch.equal(a, b) for a, b in zip(here, there, strict=True))
    assert not torch.equal(alone[0][0], alone[0][1])


def test_the_cache_is_used_until_the_source_changes(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"folder:{folder}"
    before = load_dataset(name)
    (cache,) = (tmp_path / "cache" / "decoded").iterdir()
    written = cache.stat().st_mtime_ns

    def refuse(self: object, index: int, size: int) -> None:
        raise AssertionError("decoded although it was cached")

    with monkeypatch.context() as patched:
        patched.setattr("sag_vicreg.data.encoded.EncodedImages.square", refuse)
        assert torch.equal(load_dataset(name).images, before.images)
    assert cache.stat().st_mtime_ns == written
    # The same size in bytes, another picture, another time.
    changed = folder / before.ids[0]
    picture(99).save(changed)
    os.utime(changed, ns=(1, 1))
    after = load_dataset(name)
    assert not torch.equal(after.images[0], before.images[0])
    assert torch.equal(after.images[1:], before.images[1:])


def test_many_images_are_decoded_by_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "many"
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (1800, 4, 4, 3), dtype=np.uint8)
    for name, part in (("cat", pixels[:900]), ("dog", pixels[900:])):
        (folder / name).mkdir(parents=True)
        for place, image in enumerate(part):
            Image.fromarray(image).save(folder / name / f"{place:03d}.png")
    square, here = EncodedImages.square, os.getpid()

    def elsewhere(self: EncodedImages, index: int, size: int) -> np.ndarray:
        assert os.getpid() != here
        return square(self, index, size)

    monkeypatch.setattr(EncodedImages, "square", elsewhere)
    found = load_dataset(f"folder:{folder}", split="all")
    expected = torch.from_numpy(pixels).permute(0, 3, 1, 2)
    assert torch.equal(found.images, expected)
    every = EncodedImages(Files(sorted(folder.glob("*/*.png"))), np.arange(1800))
    parts = list(decode._decoded(every, 4))
    assert torch.equal(torch.cat([part for part, _, _ in parts]), expected)
    assert all(part.is_shared() for part, _, _ in parts), "pixels are not sent through a pipe"
    broken = folder / "cat" / "004.png"
    broken.write_bytes(b"broken")
    with pytest.raises(InputError, match=r"^[^\n]*cat/004\.png is not a readable image[^\n]*$"):
        load_dataset(f"folder:{folder}", split="all")
    with pytest.warns(UserWarning, match="skipped 1 corrupt images of 1800"):
        most = load_dataset(f"folder:{folder}", split="all", skip_corrupt=True)
    assert torch.equal(most.images, torch.cat((expected[:4], expected[5:])))


def test_a_damaged_cache_is_decoded_again(folder: Path, tmp_path: Path) -> None:
    before = load_dataset(f"folder:{folder}")
    (cache,) = (tmp_path / "cache" / "decoded").iterdir()
    cache.write_bytes(b"half a fi")
    assert torch.equal(load_dataset(f"folder:{folder}").images, before.images)


def test_a_cache_that_cannot_be_written_costs_nothing(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file where the folder should be")
    assert len(load_dataset(f"folder:{folder}")) == 32


def test_the_catalog_lists_every_name() -> None:
    assert {"shapes", "digits", "cifar100", "caltech256"} <= set(dataset_names())
    assert {"folder:PATH", "parquet:PATH"} <= set(dataset_names())
    assert {"imagenet", "imagenet100", "imagenet1k"} <= set(dataset_names())
