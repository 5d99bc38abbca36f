"""What a benchmark says: rows of numbers, the targets they are held to, and the machine."""

import os
import platform
from dataclasses import asdict, dataclass, field
from pathlib import Path

from sag_vicreg.artifacts import write_json


@dataclass(frozen=True)
class Target:
    """A ratio the project promises, and what this run measured."""

    what: str
    measured: float
    bound: float
    at_least: bool = True

    @property
    def met(self) -> bool:
        """Whether this run keeps the promise."""
        return self.measured >= self.bound if self.at_least else self.measured <= self.bound


@dataclass(frozen=True)
class Report:
    """A titled table and the targets under it."""

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]
    targets: list[Target] = field(default_factory=list)

    def report(self, out: Path | None = None) -> None:
        """Print the table and the targets; write them to ``out`` as JSON if it is given."""
        from rich.console import Console
        from rich.table import Table

        console = Console()
        table = Table(title=self.title, title_justify="left")
        for index, column in enumerate(self.columns):
            table.add_column(column, justify="left" if index == 0 else "right")
        for row in self.rows:
            table.add_row(*row)
        console.print(table)
        for target in self.targets:
            sign = "≥" if target.at_least else "≤"
            verdict = "[green]met[/]" if target.met else "[red]not met[/]"
            console.print(
                f"{target.what}: {target.measured:.3g} (target {sign} {target.bound:g}) {verdict}"
            )
        if out is not None:
            write_json(
                out,
                {
                    "title": self.title,
                    "columns": list(self.columns),
                    "rows": [list(row) for row in self.rows],
                    "targets": [asdict(target) | {"met": target.met} for target in self.targets],
                    "machine": {
                        "system": platform.system(),
                        "processor": platform.machine(),
                        "cores": os.cpu_count(),
                        "python": platform.python_version(),
                    },
                },
            )
            console.print(f"wrote {out}")
