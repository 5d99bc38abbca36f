"""The evidence: every table and figure of the paper, declared, and the grid that makes them."""

from sag_vicreg.experiments.assemble import assemble
from sag_vicreg.experiments.declarations import DECLARATIONS, Declaration, declaration
from sag_vicreg.experiments.formats import SUFFIXES, render
from sag_vicreg.experiments.paper import paper_numbers, paper_row
from sag_vicreg.experiments.results import Result, average, read_result, read_results
from sag_vicreg.experiments.tables import Column, Row, Score, Table

__all__ = [
    "DECLARATIONS",
    "SUFFIXES",
    "Column",
    "Declaration",
    "Result",
    "Row",
    "Score",
    "Table",
    "assemble",
    "average",
    "declaration",
    "paper_numbers",
    "paper_row",
    "read_result",
    "read_results",
    "render",
]
