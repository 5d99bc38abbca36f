"""Methods, datasets and measures of other packages, by entry points."""

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result
from typer.testing import CliRunner

from made_packages import ENTRIES, OUTSIDE, make_package
from sag_vicreg import torchvision_ops as torchvision_ops  # before Lightning is imported
from sag_vicreg.cli import app
from sag_vicreg.errors import InputError
from sag_vicreg.recipes import METHOD_PLUGINS, dataset_names, load_recipe
from sag_vicreg.scores import MEASURES, measure_of, own_measures

Install = Callable[..., Path]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Install a package on a path of its own; its modules go with it."""
    before = set(sys.modules)

    def make(
        entries: Mapping[str, Mapping[str, str]] = ENTRIES,
        files: Mapping[str, str] = OUTSIDE,
        name: str = "outside-things",
    ) -> Path:
        site = make_package(tmp_path / f"site-{name}", name, entries, files)
        monkeypatch.syspath_prepend(str(site))
        return site

    yield make
    for module in set(sys.modules) - before:
        if module.startswith("outside"):
            del sys.modules[module]


def run(command: str) -> Result:
    return CliRunner().invoke(app, command.split())


def error_of(command: str) -> str:
    done = run(command)
    assert done.exit_code == 2, done.output
    assert done.stderr.count("\n") == 1
    return str(done.stderr)


SMALL = "--scale smoke --set schedule.steps=4 --set monitor.checkpoint_every=2 --set batch_size=24"


def test_a_method_and_a_dataset_train_resume_and_embed(install: Install, tmp_path: Path) -> None:
    site = install()
    whole = f"train --recipe dots/attract {SMALL} --out {tmp_path}/whole --set method.margin=0.5"
    assert run(whole).exit_code == 0
    recipe = load_recipe(tmp_path / "whole" / "recipe.yaml")
    assert recipe.versions["outside-things"] == "1.2"
    assert (recipe.method.margin, recipe.dataset.name) == (0.5, "dots")  # type: ignore[union-attr]
    for margin, same in ((0.5, True), (0.6, False)):
        changes = ["schedule.steps=4", "batch_size=24", f"method.margin={margin}"]
        again = load_recipe("dots/attract", scale="smoke", overrides=changes)
        assert (again.digest() == recipe.digest()) is same

    # Stopped after step 3, and gone on with from the checkpoint of step 2: the same weights.
    stop = (
        "import lightning.pytorch as pl\n"
        "class Stop(pl.Callback):\n"
        "    def on_train_batch_end(self, trainer, *_):\n"
        "        if trainer.global_step == 3: raise ZeroDivisionError\n"
    )
    (site / "outside" / "stop.py").write_text(stop)
    folder = tmp_path / "stopped"
    stopped = run(f"{whole} --out {folder} --callback outside.stop:Stop")
    assert isinstance(stopped.exception, ZeroDivisionError)
    assert run(f"train --resume {folder}").exit_code == 0
    whole_weights = (tmp_path / "whole" / "backbone.safetensors").read_bytes()
    assert (folder / "backbone.safetensors").read_bytes() == whole_weights

    for split in ("train", "test"):
        assert run(f"embed {folder} --dataset dots --split {split}").exit_code == 0
    scored = run(f"evaluate {folder} --measure spread --clusters 4 --json")
    assert scored.exit_code == 0, scored.output
    assert json.loads(scored.stdout)["scores"]["spread"] > 0
    shown = run(f"evaluate {folder} --measure spread --clusters 4").stdout
    assert "Spread of classes" in shown


def test_a_run_of_a_package_that_is_gone_names_it(install: Install, tmp_path: Path) -> None:
    site = str(install())
    recipe = load_recipe("shapes/attract").model_copy(update={"versions": {"outside-things": "1"}})
    (tmp_path / "recipe.yaml").write_text(recipe.to_yaml())
    assert load_recipe(tmp_path / "recipe.yaml") == recipe
    sys.path.remove(site)
    with pytest.raises(InputError, match=r"unknown method.*trained with outside-things: install"):
        load_recipe(tmp_path / "recipe.yaml")


def test_a_method_goes_with_our_datasets_and_a_dataset_with_our_methods(install: Install) -> None:
    install()
    ours = load_recipe("shapes/attract", scale="cpu")
    assert (ours.method.title(), ours.views.kind) == ("Attraction", "vicreg")
    theirs = load_recipe("dots/vicreg")
    assert (theirs.batch_size, theirs.schedule.epochs, theirs.backbone.name) == (48, 20, "resnet34")
    changed = load_recipe(
        "shapes/vicreg", overrides=["method.name=attract", "dataset.name=dots:some/file"]
    )
    assert changed.name == "dots:some/file/attract"
    assert changed.model_dump()["method"] == {"name": "attract", "margin": 1.0}


def test_the_section_is_checked_by_its_own_model(install: Install) -> None:
    install()
    show = "train --recipe shapes/attract --show --set"
    assert "method.margni: did you mean 'margin'? Valid: margin, name" in error_of(
        f"{show} method.margni=1"
    )
    assert "method.margin is 'wide'" in error_of(f"{show} method.margin=wide")
    assert "takes two views" in error_of(f"{show} views.kind=crop")
    unknown = error_of("train --recipe shapes/atract --show")
    assert "did you mean 'attract'?" in unknown
    assert "did you mean 'attract'?" in error_of(f"{show} method.name=atract")
    assert "did you mean 'dots'?" in error_of(f"{show} dataset.name=dotz")


def test_measures_are_computed_shown_and_written(install: Install, tmp_path: Path) -> None:
    install()
    rng = np.random.default_rng(0)
    sets = [rng.normal(shift, 1, (40, 5)) for shift in (0, 1, 3)]
    for name, vectors in zip("abc", sets, strict=True):
        np.save(tmp_path / f"{name}.npy", vectors)
    files = " ".join(f"{tmp_path}/{name}.npy" for name in "abc")
    found = json.loads(run(f"compare {files} --measure gap --trees 8 --json").stdout)["pairs"]
    pairs = [(0, 1), (0, 2), (1, 2)]
    expected = [abs(sets[i].mean() - sets[j].mean()) for i, j in pairs]
    assert [pair["measures"]["gap"] for pair in found] == pytest.approx(expected)
    shown = run(f"compare {' '.join(files.split()[:2])} --measure gap --trees 8").stdout
    assert f"{expected[0]:.4f}" in shown
    assert "gap: of means" in shown
    assert measure_of("gap").better == "lower"
    assert "belongs to `sag-vicreg evaluate`" in error_of(f"compare {files} --measure spread")
    assert "did you mean 'gap'?" in error_of(f"compare {files} --measure gpa")
    assert "is built in" in error_of(f"compare {files} --measure cka")


@pytest.mark.usefixtures("quick_maps")
def test_measures_are_on_the_page(install: Install, tmp_path: Path) -> None:
    install()
    sets = [np.random.default_rng(0).normal(shift, 1, (40, 5)) for shift in (0, 1)]
    for name, vectors in zip("ab", sets, strict=True):
        np.save(tmp_path / f"{name}.npy", vectors)
    out = tmp_path / "page.html"
    run(f"report {tmp_path}/a.npy {tmp_path}/b.npy --measure gap --trees 0 --out {out}")
    page = out.read_text()
    _, table = page.split('<p class="table-title">Measures of other packages')
    assert table.startswith("<small>gap: of means</small>")
    assert f"<td>{abs(sets[0].mean() - sets[1].mean()):.3f}</td>" in table
    assert "--measure=gap</code>" in page
    alone = error_of(f"report {tmp_path}/a.npy --measure gap --trees 0 --out {out}")
    assert "measure gap is of two sets, and no two are compared here" in alone


def test_datasets_are_listed_and_a_broken_one_is_named(install: Install) -> None:
    entries = {"datasets": {**ENTRIES["datasets"], "torn": "outside:MISSING"}}
    install(entries)
    assert dataset_names()[-3:] == ("dots", "dots:PATH", "torn")
    listed = {row["name"]: row for row in json.loads(run("datasets --json").stdout)}
    assert (listed["dots"]["where"], listed["dots"]["problem"]) == ("its package", None)
    assert listed["dots:PATH"]["where"] == "any path"
    assert "'torn' of the package outside-things 1.2" in listed["torn"]["problem"]


BROKEN = {
    "methods": (
        ("outside:missing", "", "importing outside:missing failed, AttributeError"),
        ("outside:X", "import nowhere_at_all", "No module named 'nowhere_at_all'"),
        ("outside:X", "raise RuntimeError('no licence')", "RuntimeError: no licence"),
        ("outside:X", "X = 3", "outside:X is no subclass of sag_vicreg.recipes.MethodSettings"),
        ("outside:Section", OUTSIDE["outside/__init__.py"], 'the key `name: Literal["bad"]`'),
    ),
    "datasets": (
        ("outside:X", "X = 'dots'", "is a str, not a sag_vicreg.recipes.DatasetEntry"),
        ("outside:DOTS", OUTSIDE["outside/__init__.py"], "calls itself 'dots'"),
    ),
    "measures": (
        ("outside:X", "X = len", "not a sag_vicreg.scores.OwnMeasure"),
        ("outside:GAP", OUTSIDE["outside/__init__.py"], "has the key 'gap'"),
        (
            "outside:X",
            "from sag_vicreg.scores import OwnMeasure\nX = OwnMeasure('bad', 'Bad')",
            "neither a function of_set nor a function of_pair",
        ),
    ),
}
ASKED = {
    "methods": "train --recipe shapes/bad --show",
    "datasets": "train --recipe shapes/vicreg --show --set dataset.name=bad",
    "measures": "evaluate nothing.npy --measure bad",
}


@pytest.mark.parametrize(
    ("group", "value", "text", "message"),
    [(group, *case) for group, cases in BROKEN.items() for case in cases],
)
def test_a_package_that_cannot_be_used_is_one_line(
    group: str, value: str, text: str, message: str, install: Install
) -> None:
    install({group: {"bad": value}}, {"outside/__init__.py": text})
    said = error_of(ASKED[group])
    assert message in said
    assert f"{group[:-1]} 'bad' of the package outside-things 1.2" in said
    assert "`pip uninstall outside-things`" in said
    # Nobody else notices.
    assert run("train --recipe shapes/vicreg --show").exit_code == 0


@pytest.mark.parametrize(
    ("group", "name", "asked"),
    [
        ("methods", "vicreg-vit", "train --recipe shapes/attract --show"),
        ("datasets", "cifar100", "train --recipe dots/vicreg --show"),
        ("measures", "cka", "compare a.npy b.npy --measure gap"),
    ],
)
def test_no_package_takes_a_built_in_name(
    group: str, name: str, asked: str, install: Install
) -> None:
    install({group: {**ENTRIES[group], name: next(iter(ENTRIES[group].values()))}})
    assert f"brings a {group[:-1]} '{name}', a name that is built in" in error_of(asked)
    assert load_recipe("cifar100/vicreg-vit").method.name == "vicreg"
    assert measure_of("cka") is MEASURES["cka"]


def test_two_packages_with_one_name_and_a_name_that_is_none(install: Install) -> None:
    install()
    install(name="others")
    said = error_of("train --recipe shapes/attract --show")
    assert "outside-things 1.2" in said
    assert "others 1.2" in said
    install({"measures": {"a.b": "outside:GAP"}}, name="third")
    with pytest.raises(InputError, match=r"brings a measure 'a\.b', which is no name"):
        own_measures(["gap"], of="pair")


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("method", "class Attraction(Method)", "class Attraction", "no subclass of sag_vicreg"),
        ("method", "import torch\n", "import torch, nowhere_at_all\n", "No module named"),
        ("images", "return Records(", "return list(", "returned a list, not sag_vicreg.data.Rec"),
        ("images", 'f"{request.split}/{i}"', '"same"', "1 of them different"),
        ("images", "% 4", "% 5", "do not count its 4 class names"),
        ("images", "np.uint8)", "np.float32)", "gave pixels of torch.float32"),
        ("images", "np.arange(n) % 4\n", "np.arange(n, dtype=np.int32) % 4\n", "int64"),
    ],
)
def test_an_implementation_that_is_none_is_one_line(
    file: str, old: str, new: str, message: str, install: Install, tmp_path: Path
) -> None:
    path = f"outside/{file}.py"
    if "list(" in new:
        files = {**OUTSIDE, path: "def load_dots(request):\n    return [1, 2]\n"}
    else:
        assert old in OUTSIDE[path]
        files = {**OUTSIDE, path: OUTSIDE[path].replace(old, new)}
    install(files=files)
    said = error_of(f"train --recipe dots/attract {SMALL} --out {tmp_path}/run")
    assert message in said
    assert "of the package outside-things 1.2" in said
    assert not (tmp_path / "run").exists()


def test_a_measure_that_returns_no_number_is_one_line(install: Install, tmp_path: Path) -> None:
    text = OUTSIDE["outside/__init__.py"].replace("abs(a.mean() - b.mean())", "float('nan')")
    install(files={**OUTSIDE, "outside/__init__.py": text})
    np.save(tmp_path / "a.npy", np.random.default_rng(0).normal(size=(20, 3)))
    said = error_of(f"compare {tmp_path}/a.npy {tmp_path}/a.npy --measure gap --trees 0")
    assert "measure gap returned nan, which is no finite number" in said


def test_nothing_is_looked_for_while_names_are_built_in(
    install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    install()
    from importlib import metadata

    def never(**_: str) -> None:
        raise AssertionError("entry points were read")

    monkeypatch.setattr(metadata, "entry_points", never)
    recipe = load_recipe("shapes/sag-vicreg")
    assert METHOD_PLUGINS.version(recipe.method.name) == {}
    assert measure_of("knn.level1").unit == "percent"
    assert run("train --recipe cifar100/dino --show").exit_code == 0


def test_damaged_metadata_of_any_package_is_one_line(install: Install) -> None:
    site = install()
    (site / "outside_things-1.2.dist-info" / "entry_points.txt").write_text("[a]\nno equals sign\n")
    assert "entry points of the installed packages cannot be read" in error_of(
        "train --recipe shapes/attract --show"
    )
