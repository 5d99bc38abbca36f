"""``sag-vicreg compare`` for files that are held in memory."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sag_vicreg.cli.columns import Columns
from sag_vicreg.cli.options import save_plot
from sag_vicreg.cli.own_measures import print_pairs
from sag_vicreg.cli.reading import join_files, read_files, short_names, warnings_as_lines

if TYPE_CHECKING:
    from rich.console import Console

    from sag_vicreg.artifacts import Joined
    from sag_vicreg.decisions import Naming, SetCheck
    from sag_vicreg.scores import OwnMeasure
    from sag_vicreg.structure import Comparisons, Context, Movements, Neighborhood

Pair = tuple[int, int]


@dataclass(frozen=True, eq=False)
class HeldComparison:
    """What was found in files, and how to print, write and draw it.

    Attributes
    ----------
    found
        Trees, forests and scores of every two files.
    nearby, own
        Of every two files, the neighbours they share and what measures of other packages say.
    extra, moved
        Of two files, if it was asked for.
    naming
        How the items that moved are called.
    checks
        What each file holds, and what is odd about it.
    """

    names: tuple[str, ...]
    joined: "Joined"
    found: "Comparisons"
    nearby: "Mapping[Pair, Neighborhood]"
    own: Mapping[Pair, Mapping[str, float]]
    extra: "Context | None"
    moved: "Movements | None"
    naming: "Naming"
    checks: "Sequence[SetCheck]"

    def draw(self, plot: Path, score: str) -> None:
        """Draw two files, or the matrix of ``score`` of many."""
        from sag_vicreg.figures.comparison import draw_many, draw_two

        with warnings_as_lines():
            if len(self.names) == 2:
                save_plot(draw_two(self.found.any, (self.names[0], self.names[1])), plot)
            else:
                save_plot(draw_many(self.found, score), plot)

    def to_dict(self, files: Sequence[str], *, movers: int) -> dict[str, Any]:
        """Return everything as plain types, with so many movers."""
        from sag_vicreg.errors import visible

        content = self.found.to_dict() | {
            "files": [visible(where) for where in files],
            "matched_by": self.joined.by,
            "left_out": self.joined.left_out,
            "checks": [each.to_dict() for each in self.checks],
        }
        for pair, places in zip(content["pairs"], self.found.pairs, strict=True):
            pair["neighborhood"] = asdict(self.nearby[places])
            pair |= {"measures": self.own[places]} if self.own[places] else {}
        if self.extra is not None:
            content["pairs"][0]["context"] = self.extra.to_dict()
        if self.moved is not None:
            content["pairs"][0]["movements"] = self.naming.to_dict(self.moved, count=movers)
        return content

    def print(self, console: "Console", score: str, *, movers: int) -> None:
        """Print two files, or the matrix of ``score`` of many, with so many movers."""
        from sag_vicreg.cli.compare_tables import print_many, print_moved, print_notes, print_two

        if len(self.names) == 2:
            near = self.nearby[0, 1]
            print_two(console, self.found.any, near, self.extra, self.names, self.joined.by)
        else:
            print_many(console, self.found, score, self.joined.by)
        print_pairs(console, self.names, self.own)
        if self.moved is not None:
            print_moved(console, self.moved, self.naming, most=movers)
        print_notes(console, self.checks)


def compare_held(
    files: Sequence[str],
    columns: Columns,
    *,
    join: str,
    measures: "Sequence[OwnMeasure]",
    context: bool,
    movements: bool,
    options: dict[str, Any],
) -> HeldComparison:
    """Compare every two files; ``options`` are those of ``compare_all``."""
    from sag_vicreg import structure
    from sag_vicreg.decisions import Naming, check_set
    from sag_vicreg.errors import InputError

    names = short_names(files)
    read = read_files(files, columns)
    checks = [check_set(each, name) for each, name in zip(read, names, strict=True)]
    with warnings_as_lines():
        joined = join_files(read, files, how=join)
        vectors = [each.vectors for each in joined.sets]
        found = structure.compare_all(vectors, names=names, **options)
        forests = found.any.forests
        if movements and forests is None:
            raise InputError(f"--movers needs forests: {found.any.forest_left_out}")
        return HeldComparison(
            names,
            joined,
            found,
            nearby={
                places: structure.neighborhood(*pair.trees) for places, pair in found.pairs.items()
            },
            own={
                (i, j): {each.key: each.score_pair(vectors[i], vectors[j]) for each in measures}
                for i, j in found.pairs
            },
            extra=structure.context(*found.any.trees) if context else None,
            moved=structure.movements(*forests) if movements and forests else None,
            naming=Naming.of(joined),
            checks=checks,
        )
