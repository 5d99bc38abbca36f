"""Whatever the package says about an option, a command has it."""

import ast
import re
from pathlib import Path

import pytest
import typer

import sag_vicreg
from sag_vicreg.cli import app

SOURCE = Path(sag_vicreg.__file__).parent
# Not a style sheet's variables: var(--dim).
OPTION = re.compile(r"(?<![\w-])(?<!var\()--[a-z][a-z0-9-]*[a-z0-9]")
COMMAND = re.compile(r"sag-vicreg ([a-z]+)")
# Of other programs that a message speaks of.
FOREIGN = {"--index-url"}


def options_of(command: object) -> set[str]:
    """Return every spelling of every option, with those of the commands below."""
    names = {"--help"}
    for parameter in getattr(command, "params", ()):
        names.update(parameter.opts, parameter.secondary_opts)
    for below in getattr(command, "commands", {}).values():
        names |= options_of(below)
    return names


GROUP = typer.main.get_command(app)
COMMANDS = {name: options_of(command) for name, command in GROUP.commands.items()}  # type: ignore[attr-defined]
EVERY = set().union(*COMMANDS.values(), options_of(GROUP))


def sentences(path: Path) -> list[tuple[int, str]]:
    """Return the text of every string in a module, with X for what is filled in."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.JoinedStr):
            parts = [p.value if isinstance(p, ast.Constant) else "X" for p in node.values]
            found.append((node.lineno, "".join(map(str, parts))))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.append((node.lineno, node.value))
    return found


@pytest.mark.parametrize(
    "path", sorted(SOURCE.rglob("*.py")), ids=lambda path: path.relative_to(SOURCE).as_posix()
)
def test_every_option_that_is_named_exists(path: Path) -> None:
    for line, text in sentences(path):
        for option in OPTION.findall(text):
            where = f"{path}:{line}: {option} in {text!r}"
            assert option in EVERY | FOREIGN, where
        # Where a whole command is quoted, the options are those of that command.
        for quoted in re.findall(r"`(sag-vicreg [^`]*)`", text):
            named = COMMAND.match(quoted)
            if named is None or named[1] not in COMMANDS:
                continue
            for option in OPTION.findall(quoted):
                assert option in COMMANDS[named[1]], f"{path}:{line}: {quoted}"


def test_a_message_with_an_option_that_is_none_would_be_found(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text('x = f"give {y} by --root-folder"\n')
    ((_, text), *_) = sentences(tmp_path / "m.py")
    assert OPTION.findall(text) == ["--root-folder"]
    assert not EVERY & {"--root-folder"}
