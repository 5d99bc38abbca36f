"""``python -m replication stages``: in order, from published results, and mistakes in one line."""

from pathlib import Path

import pytest

from made_results import repository, result_of
from replication.commands import main
from replication.page import BEGIN, END
from replication.places import RESULTS
from replication.stages import METHODS, STAGES
from sag_vicreg.reproduce.search import search_evaluations

ROOT = Path(__file__).parents[2]


def command(*arguments: str | Path) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["stages", *map(str, arguments)])
    return int(ended.value.code or 0)


def test_what_is_published_is_printed_without_a_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    assert RESULTS.is_dir()
    assert command("halves", "levels", "--no-run", "--out", tmp_path) == 0
    printed = capsys.readouterr().out
    assert "LCA similarity between models" in printed
    assert "k-NN accuracy by level" in printed
    assert not (tmp_path / "models").exists()
    names = {path.name for path in (tmp_path / "tables").iterdir()}
    assert {"table1.md", "table1.csv", "table1.tex", "fig4b.md"} <= names
    # All of these stages is published: to run them trains nothing, and they are complete.
    assert command("halves", "levels", "--out", tmp_path) == 0
    assert not (tmp_path / "models").exists()


def test_a_finished_search_is_published_and_its_page_rewritten(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    published = repository(tmp_path)
    page = tmp_path / "docs" / "replication-tables.md"
    page.write_text(f"# By hand\n\n{BEGIN}\n{END}\n")
    for place, trial in enumerate(search_evaluations("cifar100", METHODS)):
        result_of(trial, {"knn.level4": 0.2 + 0.01 * place}).write(tmp_path / "out" / "results")
    given = ("--out", tmp_path / "out", "--published", published)
    assert command("lr-search", *given, "--publish") == 0
    assert len(list(published.iterdir())) == 12
    assert "12 of 12 | finished" in page.read_text()
    assert f"published to {published}" in capsys.readouterr().out


def test_what_hangs_on_the_search_waits_for_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ("--out", tmp_path, "--published", tmp_path)
    assert command("halves", *given) == 2
    message = capsys.readouterr().err
    assert "`python -m replication stages lr-search` first" in message
    assert message.count("\n") == 1
    # To look at what there is needs no search.
    assert command("halves", *given, "--no-run") == 0


def test_mistakes_are_one_line_and_come_before_any_work(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ("--out", tmp_path / "out", "--published", tmp_path / "nowhere" / "results")
    assert command("halfs", *given) == 2
    message = capsys.readouterr().err
    assert "unknown stage 'halfs'" in message
    assert all(stage in message for stage in STAGES)
    assert command("lr-search", *given, "--publish") == 2
    assert "no page" in capsys.readouterr().err
    assert command("lr-search", *given, "--jobs", "0") == 2
    assert "0 is not a whole number of at least 1" in capsys.readouterr().err
    assert command("lr-search", *given, "--cluster-option", "partition") == 2
    assert "write key=value" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
