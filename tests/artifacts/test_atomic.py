"""What is written is whole, whoever else writes there, and devices stay what they are."""

import os
import stat
import threading
from pathlib import Path

import pytest

from sag_vicreg.artifacts import check_apart, check_writable, write_text
from sag_vicreg.errors import InputError


@pytest.mark.parametrize("linked", [False, True])
def test_a_pipe_is_written_into_and_not_replaced(tmp_path: Path, linked: bool) -> None:
    pipe = out = tmp_path / "pipe.md"
    os.mkfifo(pipe)
    if linked:
        out = tmp_path / "link.md"
        out.symlink_to(pipe)
    found: list[str] = []
    reader = threading.Thread(target=lambda: found.append(pipe.read_text()))
    reader.start()
    check_writable(out)
    write_text(out, "a verdict\n" * 9_000)
    reader.join()
    assert found == ["a verdict\n" * 9_000]
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert out.is_symlink() == linked


def test_an_open_file_by_its_descriptor_is_written_into(tmp_path: Path) -> None:
    if not Path("/proc/self/fd").exists():
        pytest.skip("no /proc")
    with (tmp_path / "out.txt").open("wb") as file:
        name = Path(f"/proc/self/fd/{file.fileno()}")
        check_writable(name)
        write_text(name, "a verdict")
    assert (tmp_path / "out.txt").read_text() == "a verdict"
    assert [path.name for path in tmp_path.iterdir()] == ["out.txt"]


def test_what_is_open_already_goes_on_from_where_it_is(tmp_path: Path) -> None:
    """As of ``--markdown /dev/stdout > file``, beside what the command prints."""
    if not Path("/proc/self/fd").exists():
        pytest.skip("no /proc")
    for name in ("/proc/self/fd/{}", "/dev/fd/{}"):
        with (tmp_path / "out.txt").open("wb", buffering=0) as file:
            file.write(b"before\n")
            write_text(name.format(file.fileno()), "a verdict\n")
            file.write(b"after\n")
        assert (tmp_path / "out.txt").read_text() == "before\na verdict\nafter\n"


def test_no_output_takes_the_place_of_an_input_or_of_another_output(tmp_path: Path) -> None:
    mine, hard, soft = (tmp_path / name for name in ("mine.npy", "hard.npy", "soft.npy"))
    mine.write_text("mine")
    hard.hardlink_to(mine)
    soft.symlink_to(mine)
    for other in (mine, hard, soft, tmp_path / "." / "mine.npy", os.path.relpath(mine)):
        with pytest.raises(InputError, match="it is an input, which would be lost"):
            check_apart([other], [mine])
    with pytest.raises(InputError, match="two outputs have this name; name another file"):
        check_apart([tmp_path / "new", tmp_path / "x" / ".." / "new"], [mine])
    check_apart([tmp_path / "new", tmp_path / "newer"], [mine, "s3://bucket/mine", tmp_path])
    check_apart(["/dev/stdout", "/dev/stdout"])


def test_a_link_to_a_file_is_replaced_and_the_file_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    (tmp_path / "results.json").symlink_to("mine.txt")
    write_text(tmp_path / "results.json", "{}")
    assert (tmp_path / "mine.txt").read_text() == "mine"
    assert (tmp_path / "results.json").read_text() == "{}"


def test_a_link_in_a_circle_is_refused_or_replaced_and_never_followed(tmp_path: Path) -> None:
    loop = tmp_path / "loop" / "x.json"
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(InputError, match="cannot write"):
        write_text(loop, "{}")


def test_several_writers_of_one_file_leave_one_of_their_texts(tmp_path: Path) -> None:
    path = tmp_path / "floor.json"
    texts = [letter * 20_000 for letter in "abcd"]
    write_text(path, texts[0])
    seen: set[str] = set()

    def write(text: str) -> None:
        for _ in range(20):
            write_text(path, text)
            seen.add(path.read_text())

    writers = [threading.Thread(target=write, args=(text,)) for text in texts]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert seen <= set(texts)
    assert [path.name for path in tmp_path.iterdir()] == ["floor.json"]
