"""The wheel as a user gets it: without extras, without the repository, without PyTorch."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path, PurePosixPath

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
# Everything of the train extra is hidden, and the package must be the unpacked wheel's.
COMMAND = """
import sys
from importlib.machinery import PathFinder
hidden = {"torch", "torchvision", "timm", "lightly", "lightning", "tensorboard", "submitit"}
class WithoutExtra(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name.partition(".")[0] not in hidden:
            return super().find_spec(name, path, target)
sys.meta_path = [WithoutExtra if each is PathFinder else each for each in sys.meta_path]
wheel = sys.argv.pop(1)
import sag_vicreg
assert sag_vicreg.__file__.startswith(wheel), sag_vicreg.__file__
from sag_vicreg.cli import main
main()
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    done = subprocess.run(
        [*build, "--wheel-dir", str(folder), str(ROOT)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    """Unpack it."""
    site = built.parent / "site"
    with zipfile.ZipFile(built) as archive:
        archive.extractall(site)
    take_compiled_kernels(site)
    return site


def take_compiled_kernels(site: Path) -> None:
    """Give the wheel the kernels that this checkout has compiled, where it has.

    Compiling them again takes a minute and says nothing about the wheel. They hold for sources of
    the same age and size.
    """
    for kernel in (ROOT / "src").rglob("__pycache__/*.nb[ci]"):
        source = kernel.parents[1]
        place = site / source.relative_to(ROOT / "src")
        (place / "__pycache__").mkdir(exist_ok=True)
        shutil.copy(kernel, place / "__pycache__")
        for path in source.glob("*.py"):
            shutil.copystat(path, place / path.name)


def run(wheel: Path, *words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run the command as the wheel has it."""
    return subprocess.run(
        [sys.executable, "-c", COMMAND, str(wheel), *words],
        env=os.environ | {"PYTHONPATH": str(wheel)},
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
    )


def test_it_holds_the_package_and_nothing_else(built: Path) -> None:
    with zipfile.ZipFile(built) as archive:
        names = [PurePosixPath(name) for name in archive.namelist()]
    tops = {name.parts[0] for name in names}
    assert "sag_vicreg" in tops
    assert all(name == "sag_vicreg" or name.endswith(".dist-info") for name in tops)
    source = ROOT / "src"
    kept = {
        path.relative_to(source).as_posix()
        for path in (source / "sag_vicreg").rglob("*.*")
        if "__pycache__" not in path.parts
    }
    assert {str(name) for name in names if name.parts[0] == "sag_vicreg"} == kept


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write two sets of the same items."""
    folder = tmp_path_factory.mktemp("sets")
    rng = np.random.default_rng(0)
    labels = rng.integers(4, size=80)
    x = rng.normal(size=(4, 8))[labels] + 0.3 * rng.normal(size=(80, 8))
    ids = np.array([f"item {row}" for row in range(80)])
    for name, vectors in (("a", x), ("b", x + 0.2 * rng.normal(size=x.shape))):
        np.savez(folder / f"{name}.npz", vectors=vectors, ids=ids, labels=labels.astype(str))
    return folder


@pytest.mark.parametrize(
    ("words", "written"),
    [
        (("compare", "a.npz", "b.npz", "--trees", "8", "--plot", "trees.png"), "trees.png"),
        (("evaluate", "a.npz", "--out", "scores.json"), "scores.json"),
        # Of so few points there is no UMAP, which compiles itself anew in every process.
        (("report", "a.npz", "b.npz", "--max-points", "10", "--out", "page.html"), "page.html"),
    ],
)
def test_what_the_base_install_offers_runs_from_it(
    wheel: Path, folder: Path, words: tuple[str, ...], written: str
) -> None:
    done = run(wheel, *words, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert (folder / written).stat().st_size > 100


def test_what_needs_pytorch_says_so(wheel: Path, tmp_path: Path) -> None:
    done = run(wheel, "train", "--recipe", "shapes/vicreg", "--out", "run", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "[train]" in done.stderr
