"""The command where it is often run: in containers, in pipes, in odd terminals."""

import ctypes
import os
import re
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

import sag_vicreg
from sag_vicreg.errors import InputError
from sag_vicreg.figures.style import save_figure

PACKAGE = Path(sag_vicreg.__file__).parent
# The number of the capability that lets root write where nobody may, and of the call to drop it.
CAP_DAC_OVERRIDE, PR_CAPBSET_DROP = 1, 24
FULL = Path("/dev/full")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("files")
    rng = np.random.default_rng(0)
    x = rng.normal(size=(80, 8))
    paths = [folder / "a.npy", folder / "b.npy"]
    for path in paths:
        np.save(path, x + 0.3 * rng.normal(size=x.shape))
    return [str(path) for path in paths]


def run(*words: str, **options: object) -> subprocess.CompletedProcess[str]:
    options = {"capture_output": True, "text": True, "check": False} | options
    return subprocess.run([sys.executable, "-m", "sag_vicreg", *words], **options)  # type: ignore[call-overload,no-any-return]


def _as_in_a_container() -> None:
    """Give up writing into read-only folders, which root may do otherwise."""
    if os.geteuid() == 0:
        ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, 0, 0, 0)


@pytest.mark.skipif(sys.platform != "linux", reason="capabilities are Linux's")
def test_a_read_only_installation_without_a_home(files: list[str], tmp_path: Path) -> None:
    site, home = tmp_path / "site", tmp_path / "home"
    shutil.copytree(
        PACKAGE, site / "sag_vicreg", ignore=shutil.ignore_patterns("__pycache__", "*.nbi", "*.nbc")
    )
    home.mkdir()
    for folder in (home, site, *(path for path in site.rglob("*") if path.is_dir())):
        folder.chmod(0o555)
    outside = {"PATH": os.environ["PATH"], "TMPDIR": str(tmp_path)}
    done = run(
        *("compare", *files, "--trees", "0"),
        env=outside | {"PYTHONPATH": str(site), "HOME": str(home), "LC_ALL": "C"},
        cwd=tmp_path,
        preexec_fn=_as_in_a_container,
    )
    for folder in (site, *(path for path in site.rglob("*") if path.is_dir())):
        folder.chmod(0o755)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("no folder to keep compiled functions in") == 1
    assert "Traceback" not in done.stderr
    assert done.stdout.isascii()
    assert not any(home.iterdir())


@pytest.mark.parametrize("words", [["--trees", "0"], ["--trees", "0", "--json"]])
@pytest.mark.skipif(not FULL.exists(), reason="no /dev/full")
def test_output_that_cannot_be_written_is_one_line(files: list[str], words: list[str]) -> None:
    with FULL.open("w") as full:
        done = run("compare", *files, *words, capture_output=False, stdout=full, stderr=-1)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "No space left on device" in done.stderr


def test_help_into_a_full_disk() -> None:
    with FULL.open("w") as full:
        done = run("--help", capture_output=False, stdout=full, stderr=-1)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)


def test_a_reader_that_went_away_hears_nothing_and_loses_no_figure(
    files: list[str], tmp_path: Path
) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    plot = tmp_path / "trees.png"
    done = run(
        *("compare", *files, "--trees", "0", "--plot", str(plot)),
        capture_output=False,
        stdout=writing,
        stderr=-1,
    )
    os.close(writing)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert plot.stat().st_size > 1000


@pytest.mark.parametrize("setting", [{"LC_ALL": "C"}, {"PYTHONIOENCODING": "ascii"}])
def test_an_ascii_terminal_gets_ascii(files: list[str], setting: dict[str, str]) -> None:
    done = run("compare", *files, "--trees", "0", env=os.environ | setting)
    assert done.returncode == 0, done.stderr
    assert done.stdout.isascii()
    assert "matched by position - 8 dimensions" in done.stdout


def test_a_narrow_terminal_still_shows_every_number(files: list[str]) -> None:
    wide, narrow = (
        run("compare", *files, "--trees", "8", env=os.environ | {"COLUMNS": width}).stdout
        for width in ("200", "40")
    )
    numbers = set(re.findall(r"\d\.\d{4}", wide))
    assert len(numbers) > 15
    assert all(number in narrow for number in numbers)
    assert "…" not in narrow
    assert max(map(len, narrow.splitlines())) <= 40


def test_a_name_that_is_not_utf8_is_said_somehow(tmp_path: Path) -> None:
    name = os.fsencode(tmp_path) + b"/\xff.npy"
    done = subprocess.run(
        [sys.executable, "-m", "sag_vicreg", "compare", name, name],
        capture_output=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.count(b"\n") == 1
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("suffix", [".pdf", ".svg", ".png"])
def test_a_disk_that_fills_while_a_figure_is_written(tmp_path: Path, suffix: str) -> None:
    """matplotlib's PDF writer, cut off in its first kilobytes, dies of an AttributeError."""
    figure = Figure()
    figure.subplots().plot(np.random.default_rng(0).normal(size=2000))
    path = tmp_path / f"figure{suffix}"
    save_figure(figure, path)
    before = path.read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    for share in (0.001, 0.02, 0.1, 0.5, 0.9):
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(share * len(before)), hard))
        try:
            with pytest.raises(InputError, match="free space or choose another path"):
                save_figure(figure, path)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
