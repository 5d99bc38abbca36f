"""What earlier versions could do, each of which says in one line what to run instead."""

from collections.abc import Sequence

import typer

from sag_vicreg.errors import InputError

_STAGES = ("lr-search", "halves", "trend-3000", "ablation", "levels", "trend-10000")


def bench(ctx: typer.Context) -> None:
    """Say where the benchmarks went."""
    raise _left("the benchmarks have", ["python -m benchmarks", *ctx.args])


def refuse_replication(targets: Sequence[str], *, publish: bool) -> None:
    """Say where the replication and its stages went, if they are what is asked for."""
    stages = [target for target in targets if target in _STAGES]
    if publish or stages or "replication" in targets:
        options = ["--publish"] if publish else []
        raise _left("the replication has", ["python -m replication stages", *stages, *options])


def _left(what: str, command: Sequence[str]) -> InputError:
    return InputError(
        f"{what} left the package: run `{' '.join(command)}` in a clone of the repository, "
        "installed with `pip install -e '.[train,dev]'`"
    )
