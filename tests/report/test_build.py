"""What a report is made of, and what it says where something is missing or wrong."""

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from made_pages import text_of
from made_runs import embedded_images, write_run
from sag_vicreg import progress
from sag_vicreg.artifacts import ColumnNames, Contents, Run, write_embeddings, write_text
from sag_vicreg.cli import app
from sag_vicreg.errors import InputError
from sag_vicreg.report.comparing import half_pairs
from sag_vicreg.report.points import models_to_show
from sag_vicreg.report.sources import open_sources

pytestmark = pytest.mark.usefixtures("quick_maps")


def test_runs_are_named_by_what_differs_and_paired_by_their_halves(four_runs: Path) -> None:
    models = open_sources([four_runs]).models
    assert [model.name for model in models] == [
        "VICReg, first half",
        "VICReg, second half",
        "SAG-VICReg, first half",
        "SAG-VICReg, second half",
    ]
    assert half_pairs(models) == {"VICReg": (0, 1), "SAG-VICReg": (2, 3)}


def test_of_a_folder_of_many_kinds_of_runs_those_that_share_their_images_are_shown(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "runs"
    for half in ("first", "second"):
        write_run(folder / f"sag-{half}", "sag-vicreg", half)
    # Baselines come first in every list; this one embeds other images, and one has only begun.
    alone = Run(write_run(folder / "vicreg", "vicreg", "all"))
    (alone.embeddings / "shapes-test.parquet").unlink()
    others = Contents("shapes", "test", "second", 0, alone.read_recipe().digest())
    write_embeddings(
        alone.embeddings / "shapes-all.parquet",
        embedded_images(0.3, 0, per_class=6),
        metadata=others.to_metadata(),
    )
    write_text(Run(folder / "begun").recipe, alone.recipe.read_text())
    sources = open_sources([folder])
    assert len(sources.models) == 3
    names = [model.path.name for model in models_to_show(sources.models, None)]
    assert names == ["sag-first", "sag-second"]
    assert [m.path.name for m in models_to_show(sources.models, "shapes-all")] == ["vicreg"]
    assert "are of 2 of 3 models" in text_of(folder)
    # A run that was named takes part or is refused, and decides which others can.
    both = open_sources([alone.folder, folder]).models
    assert [m.path.name for m in models_to_show(both, None)] == ["vicreg", "vicreg"]


def test_runs_that_have_only_begun_are_said_to(tmp_path: Path) -> None:
    """Once they were said to have stopped themselves."""
    recipe = Run(write_run(tmp_path / "run", "vicreg", "all", images=False)).recipe
    write_text(Run(tmp_path / "runs" / "begun").recipe, recipe.read_text())
    with pytest.raises(InputError, match=r"every training in .*runs has only begun: report them"):
        open_sources([tmp_path / "runs"])


def test_a_write_that_was_killed_is_nowhere_on_the_page(tmp_path: Path) -> None:
    run = Run(write_run(tmp_path / "run", "vicreg", "first"))
    (run.embeddings / ".shapes-all-x1y2.parquet").touch()
    (tmp_path / ".result-x1y2.json").touch()
    (model,) = open_sources([tmp_path]).models
    (file,) = model.embeddings.values()
    assert file.path.stem == "shapes-test"


def test_an_unfinished_run_shows_its_training(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", "vicreg", "all")
    for path in (run / "embeddings").iterdir():
        path.unlink()
    (run / "results.json").unlink()
    metrics = run / "metrics.csv"
    metrics.write_text(metrics.read_text()[:-10])  # cut off in the middle of a line
    page = text_of(run)
    assert "No embeddings yet" in page
    assert 'id="training-0"' in page
    assert 'id="map"' not in page


@pytest.mark.parametrize("content", ['{"probe": null}', '{"probe": 0.4}', '{"knn": 1e999}', "[]"])
def test_results_that_are_none_are_named(content: str, tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", "vicreg", "all", images=False)
    write_text(Run(folder).results, content)
    with pytest.raises(InputError, match=r"results\.json"):
        open_sources([folder])


def test_a_link_that_leads_nowhere_is_no_result(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "runs" / "one", "vicreg", "all", images=False)
    (folder.parent / "x.json").symlink_to(tmp_path / "gone.json")
    assert len(open_sources([folder.parent]).models) == 1


def command_of(page: str) -> str:
    return unescape(page.split('<code tabindex="0">')[1].split("</code>")[0])


def test_the_command_has_every_option_that_was_given(tmp_path: Path) -> None:
    write_embeddings(tmp_path / "a.parquet", embedded_images(0.3, 0, per_class=2))
    source, out = tmp_path / "a.parquet", tmp_path / "report.html"
    plain = shlex.join(["sag-vicreg", "report", str(source), "--out", str(out)])
    assert command_of(text_of(source, trees=100, half_samples=8)) == plain
    options = [
        "--hierarchy=shapes",
        "--embeddings=shapes-test",
        "--title=-Before & after",
        "--max-points=50",
        "--trees=8",
        "--half-samples=0",
        "--seed=3",
        "--vector-columns=vector",
        "--id-column=id",
        "--label-column=label",
    ]
    program, *arguments = shlex.split(plain)
    done = CliRunner().invoke(app, [*arguments, *options])
    assert done.exit_code == 0, done.output
    assert shlex.split(command_of(out.read_text())) == [program, *arguments, *options]


def test_the_command_says_of_each_file_what_was_said_of_it(tmp_path: Path) -> None:
    """Once the columns of one file were told of both."""
    source = embedded_images(0.3, 0, per_class=2)
    write_embeddings(tmp_path / "a.parquet", source)
    table = pq.read_table(tmp_path / "a.parquet")
    pq.write_table(table.rename_columns(["key", "label", "vector"]), tmp_path / "b.parquet")
    columns = [ColumnNames(), ColumnNames(id_column="key")]
    page = text_of(tmp_path / "a.parquet", tmp_path / "b.parquet", columns=columns)
    words = shlex.split(command_of(page))
    assert [word for word in words if "column" in word] == ["--id-column=", "--id-column=key"]
    done = CliRunner().invoke(app, words[1:])
    assert done.exit_code == 0, done.output


def test_recipes_are_spoken_of_only_where_there_are_some(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.eye(5))
    assert "recipe is complete" not in text_of(tmp_path / "a.npy")
    run = write_run(tmp_path / "run", "vicreg", "all", images=False)
    assert "recipe is complete" in text_of(run)


def test_the_slow_maps_show_their_progress(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[Any] = []

    @contextmanager
    def bar(description: str, total: float) -> Iterator[Any]:
        steps.append((description, total))
        yield steps.append

    monkeypatch.setattr(progress, "progress_bar", bar)
    for name in "ab":
        np.save(tmp_path / f"{name}.npy", np.eye(5))
    text_of(tmp_path / "a.npy", tmp_path / "b.npy")
    assert steps[-3:] == [("maps", 2), 1, 1]
