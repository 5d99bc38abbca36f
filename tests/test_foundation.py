"""The package as installed: versions, quick start, one-line errors, safe files."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

import sag_vicreg
from sag_vicreg.artifacts import atomic_path, write_json, write_text
from sag_vicreg.cli import app
from sag_vicreg.cli.group import OneLineErrors
from sag_vicreg.errors import InputError, unknown_name

# What draws the help is all of our dependencies that the bare command may import.
LIGHT = {"typer", "rich"}


def run_python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)


def dependencies() -> set[str]:
    """The packages that pyproject.toml asks for, in all extras, by the names they are imported."""
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["train"]]
    names = {re.split(r"[\W]", line.replace("-", "_"))[0] for line in wanted}
    imported = {"scikit_learn": "sklearn", "umap_learn": "umap", "pillow": "PIL", "pyyaml": "yaml"}
    return {imported.get(name, name) for name in names}


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_the_bare_command_imports_nothing_heavy(option: str) -> None:
    """So that it answers at once; `python -m benchmarks latency` has the seconds."""
    done = run_python(
        f"import sys; sys.argv[1:] = [{option!r}]\n"
        "from sag_vicreg.cli import main\n"
        "try: main()\n"
        f"finally: print([m for m in {sorted(dependencies())!r} if m in sys.modules])"
    )
    assert done.returncode == 0, done.stderr
    *_, found = done.stdout.splitlines()
    assert set(ast.literal_eval(found)) <= LIGHT


def test_version_is_the_package_version() -> None:
    command = [sys.executable, "-m", "sag_vicreg", "--version"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stdout.split() == ["sag-vicreg", sag_vicreg.__version__]


# As without the [train] extra: its packages cannot be found at all.
WITHOUT_TORCH = """
import importlib.util, sys

absent = {"torch", "torchvision", "timm", "lightly", "lightning"}

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in absent:
            raise ModuleNotFoundError(f"No module named '{name}'", name=name)

find = importlib.util.find_spec
importlib.util.find_spec = lambda name, *a: None if name in absent else find(name, *a)
sys.meta_path.insert(0, Absent())
"""


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["check", "old.npz", "new.npz"],
        ["gate", "old.npz", "new.npz", "--trees", "8"],
    ],
)
def test_embeddings_need_no_pytorch(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`test_wheel.py` has the commands that the wheel is tried with."""
    monkeypatch.chdir(tmp_path)
    vectors = np.random.default_rng(0).normal(size=(50, 4))
    labels = np.array(["ant", "bee"] * 25)
    for name in ("old", "new"):
        np.savez(f"{name}.npz", vectors=vectors, labels=labels)
    done = run_python(
        f"{WITHOUT_TORCH}sys.argv[1:] = {arguments!r}\nfrom sag_vicreg.cli import main; main()"
    )
    assert done.returncode == 0, done.stderr


def test_the_base_install_names_the_missing_extra() -> None:
    ask = "from sag_vicreg.errors import require_train_extra; require_train_extra('train')"
    done = run_python(WITHOUT_TORCH + ask)
    assert "train needs torch, torchvision, timm, lightly, lightning: pip install" in done.stderr


def test_torchvision_timm_and_lightly_import_after_the_operators_are_declared() -> None:
    done = run_python(
        "import sag_vicreg.torchvision_ops as ops\n"
        "import torchvision, timm, lightly.loss\n"
        "print(ops.declare_missing_operators())"
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"


def test_operators_are_left_alone_where_torchvision_declares_them() -> None:
    """As beside a CUDA torch: the schemas are there before we look."""
    done = run_python(
        "import torch\n"
        "native = torch.library.Library('torchvision', 'DEF')\n"
        "schema = '(Tensor dets, Tensor scores, float iou_threshold) -> Tensor'\n"
        "native.define('nms' + schema); native.define('qnms' + schema)\n"
        "import sag_vicreg.torchvision_ops as ops\n"
        "print(ops.declare_missing_operators())"
    )
    assert done.stdout.strip() == "[]", done.stderr


def test_a_users_mistake_is_one_line_and_exit_code_2() -> None:
    app = typer.Typer(cls=OneLineErrors)

    @app.callback()
    def root() -> None: ...

    @app.command()
    def wrong() -> None:
        raise InputError("k is 9 but the batch has 4 rows:\n  lower k")

    done = CliRunner().invoke(app, ["wrong"])
    assert done.exit_code == 2
    assert done.stderr == "error: k is 9 but the batch has 4 rows: lower k\n"


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--foo"], "error: No such option: --foo: see `sag-vicreg --help`"),
        (["frobnicate"], "error: No such command 'frobnicate': see `sag-vicreg --help`"),
        (["evaluate"], "error: Missing argument 'INPUTS': see `sag-vicreg evaluate --help`"),
        (["figure", "5", "--count", "0"], "see `sag-vicreg figure --help`"),
    ],
)
def test_options_that_are_none_are_one_line(arguments: list[str], line: str) -> None:
    done = CliRunner().invoke(app, arguments, prog_name="sag-vicreg")
    assert done.exit_code == 2
    assert line in done.stderr
    assert done.stderr.count("\n") == 1


def test_no_command_at_all_shows_the_help() -> None:
    assert "Usage: sag-vicreg" in CliRunner().invoke(app, [], prog_name="sag-vicreg").output


def test_unknown_name_without_a_near_one_lists_them_all() -> None:
    assert str(unknown_name("table", "zzz", ["table1", "fig4a"])) == (
        "unknown table 'zzz': Valid: table1, fig4a"
    )


def test_atomic_write_replaces_only_when_complete(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "file.txt"
    write_text(path, "old")

    def fail_half_way() -> None:
        with atomic_path(path) as temporary:
            temporary.write_text("new, but")
            raise RuntimeError("half way")

    with pytest.raises(RuntimeError, match="half way"):
        fail_half_way()
    assert path.read_text() == "old"
    assert [entry.name for entry in path.parent.iterdir()] == ["file.txt"]
    write_text(path, "new")
    assert path.read_text() == "new"


def test_atomic_write_names_a_path_it_cannot_write(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot write"):
        write_text(tmp_path / "file" / "below.txt", "")


def test_json_has_no_nan(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="JSON"):
        write_json(tmp_path / "x.json", {"score": float("nan")})
    assert not (tmp_path / "x.json").exists()
