"""A user's mistake is one line on stderr and exit code 2, for every command at once."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer
from typer.core import TyperGroup

from sag_vicreg.cli.terminal import UNWRITABLE, let_go_of_output
from sag_vicreg.errors import InputError

# Click's, or that of the copy newer versions of typer bring along: both call it so.
_UsageError: Any = next(c for c in typer.BadParameter.__mro__ if c.__name__ == "UsageError")


@contextmanager
def _one_line() -> Iterator[None]:
    try:
        yield
    except InputError as error:
        _refuse(str(error), error)
    except _UsageError as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # no mistake: the help is what was asked
            raise
        command = "sag-vicreg" if error.ctx is None else error.ctx.command_path
        _refuse(f"{error.format_message().rstrip('.')}: see `{command} --help`", error)
    except OSError as error:
        # Files are written elsewhere, where the error gets their name: this is the output.
        if error.errno not in UNWRITABLE or error.filename is not None:
            raise
        let_go_of_output()
        _refuse(f"cannot write the output: {error.strerror}; send it elsewhere", error)


def _refuse(message: str, cause: Exception) -> None:
    typer.echo(f"error: {' '.join(message.split())}", err=True)
    raise typer.Exit(2) from cause


class OneLineErrors(TyperGroup):
    """Say what the user did wrong in one line; let everything else, a bug, be seen."""

    @_one_line()
    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        """Read the options before the command under the rule above."""
        return super().make_context(*args, **kwargs)

    @_one_line()
    def invoke(self, ctx: Any) -> Any:
        """Read the command's options, and run it, under the rule above."""
        return super().invoke(ctx)
