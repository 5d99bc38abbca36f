"""One process per folder: the second comer gets one line, and a dead owner holds nothing."""

import shutil
from multiprocessing.context import ForkServerContext
from pathlib import Path

import pytest
from typer.testing import CliRunner

from claimants import count_owners, hold, train_by_command
from sag_vicreg.artifacts import Run, read_thumbnails
from sag_vicreg.cli import app
from sag_vicreg.errors import InputError
from sag_vicreg.training import embed
from sag_vicreg.training.claim import LOCK, claim


@pytest.mark.parametrize("forks", [False, True])
def test_a_killed_owner_holds_nothing(
    forks: bool, processes: ForkServerContext, tmp_path: Path
) -> None:
    here, there = processes.Pipe()
    owner = processes.Process(target=hold, args=(tmp_path, there, forks))
    owner.start()
    there.close()
    assert here.recv() == "held"
    with pytest.raises(InputError, match="another process trains in"), claim(tmp_path, "trains in"):
        pass
    owner.kill()
    owner.join()
    assert (tmp_path / LOCK).exists()  # what is left of it is a file that nobody has locked
    with claim(tmp_path, "trains in"):
        pass
    assert not list(tmp_path.iterdir())
    here.close()  # what it forked ends


def test_one_process_claims_a_folder_once(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    with claim(folder, "trains in"):
        with pytest.raises(InputError, match="trains in"), claim(folder, "trains in"):
            pass
        with pytest.raises(InputError), claim(folder / ".." / "b", "trains in"):
            pass
        assert (folder / LOCK).exists()  # the refused have not taken it away
    assert not list(tmp_path.iterdir())  # nor has anybody left a folder behind


def test_no_two_processes_ever_hold_it_together(
    processes: ForkServerContext, tmp_path: Path
) -> None:
    barrier = processes.Barrier(3)
    arguments = (tmp_path / "folder", 200, tmp_path / "owner", barrier)
    members = [processes.Process(target=count_owners, args=arguments) for _ in range(3)]
    for member in members:
        member.start()
    for member in members:
        member.join()
        assert member.exitcode == 0


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot claim"), claim(tmp_path / "file", "trains in"):
        pass


SHORT = "--set schedule.steps=4 --set dataset.max_images=200 --set monitor.probe_images=60"


@pytest.mark.slow
def test_of_two_trainings_in_one_new_folder_one_is_refused(
    processes: ForkServerContext, tmp_path: Path
) -> None:
    started = []
    for method in ("vicreg", "simclr"):
        arguments = f"--recipe shapes/{method} --scale smoke {SHORT} --out {tmp_path / 'run'}"
        given = (arguments.split(), tmp_path / method)
        started.append(processes.Process(target=train_by_command, args=given))
        started[-1].start()
    for process in started:
        process.join()
    said = [(tmp_path / method).read_text() for method in ("vicreg", "simclr")]
    codes = [process.exitcode for process in started]
    assert sorted(codes) == [0, 2], said
    refused = said[codes.index(2)]
    assert refused.count("\n") == 1
    # Whichever came too late: while the other trained, or after it had written its recipe.
    assert "another process trains in" in refused or "already holds another recipe" in refused
    trained = ("vicreg", "simclr")[codes.index(0)]
    assert f"name: shapes/{trained}" in Run(tmp_path / "run").recipe.read_text()


def test_of_two_embeddings_at_once_the_second_is_refused(finished: Run, tmp_path: Path) -> None:
    out = tmp_path / "e" / "test.parquet"
    with (
        claim(out.parent, "embeds into"),
        pytest.raises(InputError, match=r"another process embeds into .*wait until it has ended"),
    ):
        embed(finished.folder, dataset="shapes", max_images=4, out=out)
    embed(finished.folder, dataset="shapes", max_images=4, out=out)
    assert len(read_thumbnails(out.parent / "thumbnails.parquet")) == 4
    assert not (out.parent / LOCK).exists()


def test_a_resume_while_it_trains_is_refused(finished: Run, tmp_path: Path) -> None:
    run = Run(shutil.copytree(finished.folder, tmp_path / "run"))
    run.backbone.unlink()
    before = run.metrics.read_bytes()
    with claim(run.folder, "trains in"):
        done = CliRunner().invoke(app, ["train", "--resume", str(run.folder)])
    assert done.exit_code == 2
    assert done.stderr.startswith("error: another process trains in")
    assert done.stderr.count("\n") == 1
    assert run.metrics.read_bytes() == before
