"""One self-contained page from artifacts: scores, trees, maps, neighbours, training, recipe."""

from sag_vicreg.report.build import build_report

__all__ = ["build_report"]
