"""The evidence: every table and figure of the paper, declared, and the grid that makes them."""

from sag_vicreg.experiments.assemble import assemble
from sag_vicreg.experiments.averages import average
from sag_vicreg.experiments.declarations import DECLARATIONS, Declaration, declaration
from sag_vicreg.experiments.formats import SUFFIXES, render
from sag_vicreg.experiments.grid import Workers, outline, run_grid
from sag_vicreg.experiments.paper import paper_numbers, paper_row
from sag_vicreg.experiments.plan import Evaluation
from sag_vicreg.experiments.reproduction import Reproduction, parse_options
from sag_vicreg.experiments.requests import Choices, request_table
from sag_vicreg.experiments.store import Store
from sag_vicreg.experiments.tables import Column, Row, Score, Table

__all__ = [
    "DECLARATIONS",
    "SUFFIXES",
    "Choices",
    "Column",
    "Declaration",
    "Evaluation",
    "Reproduction",
    "Row",
    "Score",
    "Store",
    "Table",
    "Workers",
    "assemble",
    "average",
    "declaration",
    "outline",
    "paper_numbers",
    "paper_row",
    "parse_options",
    "render",
    "request_table",
    "run_grid",
]
