"""Sources and options a report refuses: one line, exit code 2, nothing written."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from made_runs import embedded_images, write_run
from sag_vicreg.artifacts import write_embeddings, write_thumbnails
from sag_vicreg.cli import app
from sag_vicreg.errors import InputError
from sag_vicreg.report import build_report

pytestmark = pytest.mark.usefixtures("quick_maps")


def foreign(tmp_path: Path) -> list[Path]:
    (tmp_path / "notes.txt").write_text("mine")
    return [tmp_path]


def empty(tmp_path: Path) -> list[Path]:
    return [tmp_path]


def missing(tmp_path: Path) -> list[Path]:
    return [tmp_path / "nowhere"]


def only_a_recipe(tmp_path: Path) -> list[Path]:
    run = write_run(tmp_path / "run", "vicreg", "all", images=False)
    for path in ("metrics.csv", "results.json", "embeddings/shapes-test.parquet"):
        (run / path).unlink()
    return [run]


def foreign_recipe(tmp_path: Path) -> list[Path]:
    (tmp_path / "recipe.yaml").write_text("flour: 500 g\n")
    return [tmp_path]


def broken_results(tmp_path: Path) -> list[Path]:
    run = write_run(tmp_path / "run", "vicreg", "all", images=False)
    (run / "results.json").write_text("{")
    return [run]


def different_sizes(tmp_path: Path) -> list[Path]:
    np.save(tmp_path / "a.npy", np.ones((5, 2)))
    np.save(tmp_path / "b.npy", np.ones((6, 2)))
    return [tmp_path / "a.npy", tmp_path / "b.npy"]


def ids_in_another_order(tmp_path: Path) -> list[Path]:
    source = embedded_images(0.3, 0, per_class=2)
    np.save(tmp_path / "a.npy", source.vectors)
    write_embeddings(tmp_path / "b.parquet", source)
    write_embeddings(tmp_path / "c.parquet", source.take(slice(None, None, -1)))
    return [tmp_path / "a.npy", tmp_path / "b.parquet", tmp_path / "c.parquet"]


def no_common_id(tmp_path: Path) -> list[Path]:
    source = embedded_images(0.3, 0, per_class=2)
    write_embeddings(tmp_path / "a.parquet", source.take(slice(0, 20)))
    write_embeddings(tmp_path / "b.parquet", source.take(slice(20, 40)))
    return [tmp_path / "a.parquet", tmp_path / "b.parquet"]


def not_finite(tmp_path: Path) -> list[Path]:
    vectors = np.ones((5, 2))
    vectors[3, 1] = np.nan
    np.save(tmp_path / "a.npy", vectors)
    return [tmp_path / "a.npy"]


def not_images(tmp_path: Path) -> list[Path]:
    source = embedded_images(0.3, 0, per_class=2)
    assert source.ids is not None
    write_embeddings(tmp_path / "a.parquet", source)
    write_thumbnails(tmp_path / "thumbnails.parquet", source.ids.tolist(), [b"no"] * len(source))
    return [tmp_path / "a.parquet"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (foreign, "is not a run"),
        (empty, "is empty"),
        (missing, "no such file or folder"),
        (only_a_recipe, "has a recipe and nothing else yet"),
        (foreign_recipe, "recipe"),
        (broken_results, "is not a result of `evaluate`"),
        (different_sizes, "a.npy has 5 rows and"),
        (ids_in_another_order, "c.parquet lists its ids in another order"),
        (no_common_id, "20 missing in all"),
        (not_finite, "row 3 holds NaN"),
        (not_images, "is not a small WebP image"),
    ],
)
def test_bad_sources_are_one_line_and_exit_code_2(tmp_path: Path, make: Any, message: str) -> None:
    sources = make(tmp_path)
    out = tmp_path.parent / f"{tmp_path.name}.html"
    done = CliRunner().invoke(app, ["report", *map(str, sources), "--out", str(out)])
    assert done.exit_code == 2, done.output
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert not out.exists()


def test_a_path_that_cannot_be_written_is_refused_before_the_work(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.eye(5))
    (tmp_path / "file").write_text("")
    for out in (tmp_path, tmp_path / "file" / "report.html"):
        with pytest.raises(InputError, match="cannot write"):
            build_report([tmp_path / "a.npy"], out)


@pytest.mark.parametrize("half_samples", [-1, 1])
def test_halves_without_a_deviation_are_refused_in_one_line(
    tmp_path: Path, half_samples: int
) -> None:
    np.save(tmp_path / "a.npy", np.eye(5))
    out = tmp_path / "report.html"
    options = ["--out", str(out), f"--half-samples={half_samples}"]
    done = CliRunner().invoke(app, ["report", str(tmp_path / "a.npy"), *options])
    assert done.exit_code == 2
    assert f"half_samples is {half_samples}: " in done.stderr
    assert done.stderr.count("\n") == 1
    assert not out.exists()
