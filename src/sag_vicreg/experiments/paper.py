"""The paper's own numbers, packaged, to stand beside ours."""

from functools import cache
from importlib import resources

import yaml

from sag_vicreg.experiments.tables import Score


def _score(printed: str | float) -> Score:
    mean, _, deviation = str(printed).partition("±")
    return Score(float(mean), float(deviation) if deviation else None)


@cache
def paper_numbers() -> dict[str, dict[str, dict[str, tuple[Score, ...]]]]:
    """Every printed number: table, then group of columns, then method (or ``gain``)."""
    text = resources.files(__package__).joinpath("paper.yaml").read_text(encoding="utf-8")
    return {
        table: {
            group: {row: tuple(map(_score, values)) for row, values in rows.items()}
            for group, rows in groups.items()
        }
        for table, groups in yaml.safe_load(text).items()
    }


def paper_row(table: str, group: str, method: str) -> tuple[Score, ...] | None:
    """Return the paper's scores of ``method`` there, or None where it prints none."""
    return paper_numbers().get(table, {}).get(group, {}).get(method)
