"""A user's mistake is one line on stderr and exit code 2, for every command at once."""

from typing import Any

import typer
from typer.core import TyperGroup

from sag_vicreg.errors import InputError


class OneLineErrors(TyperGroup):
    """Turn :class:`InputError` into its own message; let everything else, a bug, be seen."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command under the rule above."""
        try:
            return super().invoke(ctx)
        except InputError as error:
            typer.echo(f"error: {' '.join(str(error).split())}", err=True)
            raise typer.Exit(2) from error
