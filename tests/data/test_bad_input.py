"""Datasets that are broken, missing or asked for wrongly: each is refused in one clear line."""

import io
import warnings
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from sag_vicreg.data import check_dataset, load_dataset
from sag_vicreg.errors import InputError

PICTURE = Image.new("RGB", (20, 16), "teal")


def png(image: Image.Image) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return buffer.getvalue()


def test_a_corrupt_image_is_named_or_skipped_with_a_count(folder: Path) -> None:
    broken = folder / "bee" / "3.png"
    broken.write_bytes(broken.read_bytes()[:60])
    name = f"folder:{folder}"
    with pytest.raises(InputError, match=r"bee/3\.png is not a readable image"):
        load_dataset(name, split="all")
    for resident in (True, False):
        with pytest.warns(UserWarning, match="skipped 1 corrupt images of 40"):
            data = load_dataset(name, split="all", skip_corrupt=True, resident=resident)
        assert len(data) == 39
        assert "bee/3.png" not in data.ids
        assert data.batch(range(39)).shape == (39, 3, 16, 16)
    whole = load_dataset(name, split="all", resident=False)
    with pytest.raises(InputError, match=r"bee/3\.png is not a readable image"):
        whole.batch(range(40))


def test_a_file_is_what_it_holds_not_what_it_is_called(folder: Path) -> None:
    """Pillow would hand an EPS file to Ghostscript, and with it a program to run."""
    image = next(folder.rglob("*.png"))
    image.write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 8 8\n%%EndComments\nshowpage\n")
    with pytest.raises(InputError, match=f"{image.name} is not a readable image") as caught:
        load_dataset(f"folder:{folder}", split="all")
    assert "Ghostscript" not in str(caught.value)


def test_the_first_image_may_be_the_corrupt_one(folder: Path) -> None:
    (folder / "ant" / "0.png").write_bytes(b"nothing")
    with pytest.warns(UserWarning, match="skipped 1 corrupt images of 40"):
        data = load_dataset(f"folder:{folder}", split="all", skip_corrupt=True)
    assert len(data) == 39
    assert data.image_size == 16


def test_a_sound_dataset_gives_no_warning(folder: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load_dataset(f"folder:{folder}", skip_corrupt=True)


def test_nothing_but_corrupt_images(tmp_path: Path) -> None:
    (tmp_path / "0.png").write_bytes(b"nothing")
    with pytest.raises(InputError, match=r"0\.png is not a readable image"):
        load_dataset(f"folder:{tmp_path}", skip_corrupt=True)
    with pytest.raises(InputError, match="none of the 1 images can be decoded"):
        load_dataset(f"folder:{tmp_path}", skip_corrupt=True, image_size=8)


def test_unknown_names_and_missing_roots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SAG_VICREG_DATA", raising=False)
    with pytest.raises(InputError, match="did you mean 'cifar100'"):
        load_dataset("cifar10")
    with pytest.raises(InputError, match="where is cifar100"):
        load_dataset("cifar100")
    with pytest.raises(InputError, match="nowhere does not exist"):
        load_dataset("caltech256", root=tmp_path / "nowhere")
    with pytest.raises(InputError, match="nowhere does not exist"):
        load_dataset(f"folder:{tmp_path}/nowhere")
    with pytest.raises(InputError, match="write parquet:PATH"):
        load_dataset("parquet:")
    with pytest.raises(InputError, match="unknown dataset 'files:x'"):
        load_dataset("files:x")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"split": "val"}, "unknown split 'val'"),
        ({"split": "all"}, "shapes comes as train and test"),
        ({"classes": "firs"}, "did you mean 'first'"),
        ({"classes": ["one_plain_clove"]}, "did you mean 'one_plain_clover'"),
        ({"classes": [48]}, "classes go from 0 to 47"),
        ({"classes": []}, "list of classes is empty"),
        ({"max_images": 0}, "max_images is 0"),
        ({"image_size": 0}, "image_size is 0"),
        ({"seed": -1}, "seed is -1"),
    ],
)
def test_options_that_make_no_sense(options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        load_dataset("shapes", **options)  # type: ignore[arg-type]


def test_a_root_that_would_not_be_read_is_refused(folder: Path) -> None:
    with pytest.raises(InputError, match="shapes is built in and reads no files"):
        load_dataset("shapes", root=folder)
    with pytest.raises(InputError, match="names its own path"):
        load_dataset(f"folder:{folder}", root=folder)


def test_a_picture_too_large_to_be_meant_is_corrupt(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 16)
    with pytest.raises(InputError, match="is not a readable image"):
        load_dataset(f"folder:{folder}", image_size=8)


def test_half_a_folder(folder: Path, tmp_path: Path) -> None:
    PICTURE.save(folder / "loose.png")
    with pytest.raises(InputError, match=r"both class folders and loose images such as loose\.png"):
        load_dataset(f"folder:{folder}")
    (folder / "loose.png").unlink()
    (folder / "empty").mkdir()
    with pytest.raises(InputError, match=r"empty holds no images: half a dataset"):
        load_dataset(f"folder:{folder}")
    (folder / "empty").rename(folder / "train")
    with pytest.raises(InputError, match="has no folder 'test': half of the dataset"):
        load_dataset(f"folder:{folder}", split="test")
    with pytest.raises(InputError, match="holds no images and no class folders"):
        load_dataset(f"folder:{folder}", split="train")
    with pytest.raises(InputError, match=r"0\.png is not a folder"):
        load_dataset(f"folder:{folder / 'ant' / '0.png'}")


def test_labels_that_cannot_be(tmp_path: Path) -> None:
    for split, labels in (("train", ["ant", "bee"]), ("test", [0, 1])):
        table = pa.table({"image": [b"x"] * 2, "label": labels})
        pq.write_table(table, tmp_path / f"{split}.parquet")
    with pytest.raises(InputError, match="not a readable parquet file"):
        load_dataset(f"parquet:{tmp_path}")
    empty = pa.table({"image": pa.array([], pa.binary()), "label": pa.array([], pa.int64())})
    pq.write_table(empty, tmp_path / "empty.parquet")
    with pytest.raises(InputError, match="has no rows"):
        load_dataset(f"parquet:{tmp_path / 'empty.parquet'}")
    features = '{"info": {"features": {"label": {"names": ["ant", "bee"]}}}}'
    table = pa.table({"image": [b"x"] * 2, "label": ["ant", "cat"]})
    pq.write_table(
        table.replace_schema_metadata({"huggingface": features}), tmp_path / "odd.parquet"
    )
    with pytest.raises(InputError, match="holds 'cat', which is none of the 2 classes"):
        load_dataset(f"parquet:{tmp_path / 'odd.parquet'}")


def test_broken_parquet(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"text": ["a"], "label": [0]}), path)
    with pytest.raises(InputError, match=r"has no image column: .* its columns are text, label"):
        load_dataset(f"parquet:{path}")
    path.write_bytes(b"PAR1 and then nothing")
    with pytest.raises(InputError, match="not a readable parquet file"):
        load_dataset(f"parquet:{path}")
    image = png(PICTURE)
    pq.write_table(pa.table({"img": [image, None], "label": [0, 1]}), path)
    with pytest.raises(InputError, match=r"x\.parquet row 1 has no image"):
        load_dataset(f"parquet:{path}", split="all")
    pq.write_table(pa.table({"img": [image, image], "label": [0, None]}), path)
    with pytest.raises(InputError, match="1 missing labels"):
        load_dataset(f"parquet:{path}")
    pq.write_table(pa.table({"img": [image, image], "label": [0, -2]}), path)
    with pytest.raises(InputError, match="labels -2 to 0"):
        load_dataset(f"parquet:{path}")
    pq.write_table(pa.table({"img": [image, image], "label": [0, 10**12]}), path)
    with pytest.raises(InputError, match="holds label 1000000000000, which counts classes"):
        load_dataset(f"parquet:{path}")
    pq.write_table(pa.table({"img": [image, image], "label": [[0], [1]]}), path)
    with pytest.raises(InputError, match="not one label per row"):
        load_dataset(f"parquet:{path}")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"holds no \.parquet files"):
        load_dataset(f"parquet:{tmp_path / 'empty'}")


def test_half_of_a_named_dataset(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(InputError, match="holds no CIFAR-100: expected"):
        load_dataset("cifar100", root=tmp_path)
    with pytest.raises(InputError, match="expected a folder 256_ObjectCategories"):
        load_dataset("caltech256", root=tmp_path)
    folder.rename(tmp_path / "256_ObjectCategories")
    with pytest.raises(InputError, match="holds 4 of 256 categories and lacks categories 001, 002"):
        load_dataset("caltech256", root=tmp_path)
    (tmp_path / "256_ObjectCategories").rename(tmp_path / "train")
    with pytest.raises(InputError, match="lacks 100 of 100 class folders: n01440764"):
        load_dataset("imagenet100", root=tmp_path)
    with pytest.raises(InputError, match="lacks 1000 of 1000 class folders"):
        load_dataset("imagenet", root=tmp_path)
    with pytest.raises(InputError, match="lacks 99 of 100 class folders: apple"):
        load_dataset("cifar100", root=tmp_path)


def test_check_dataset_looks_without_decoding(tmp_path: Path, folder: Path) -> None:
    check_dataset("shapes")
    check_dataset(f"folder:{folder}")
    with pytest.raises(InputError, match="holds no CIFAR-100"):
        check_dataset("cifar100", root=tmp_path)


def test_links_that_lead_in_a_circle_are_named(tmp_path: Path) -> None:
    images = tmp_path / "cats"
    images.mkdir()
    Image.new("RGB", (8, 8)).save(images / "a.png")
    (tmp_path / "dogs").symlink_to(tmp_path / "dogs")
    with pytest.raises(InputError, match=r"symbolic links\): see to .*dogs"):
        load_dataset(f"folder:{tmp_path}", split="all")
    (tmp_path / "dogs").unlink()
    (images / "b.png").symlink_to(images / "b.png")
    with pytest.raises(InputError, match=r"symbolic links\): see to .*b\.png"):
        load_dataset(f"folder:{tmp_path}", split="all")
    (images / "b.png").unlink()
    (images / "above").symlink_to(tmp_path)  # a circle of folders is not followed
    (images / "notes").symlink_to(images / "notes")  # called like no image
    assert len(load_dataset(f"folder:{tmp_path}", split="all")) == 1
