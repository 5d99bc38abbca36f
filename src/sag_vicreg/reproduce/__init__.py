"""The evidence: every table and figure of the paper, declared, and the grid that makes them."""

from sag_vicreg.reproduce.campaign import Campaign, Target
from sag_vicreg.reproduce.declarations import DECLARATIONS, Declaration, declaration
from sag_vicreg.reproduce.formats import SUFFIXES, render
from sag_vicreg.reproduce.grid import WorkerPool, outline, run_grid
from sag_vicreg.reproduce.plan import Evaluation
from sag_vicreg.reproduce.requests import (
    Choices,
    parse_options,
    plan_targets,
    request_table,
)
from sag_vicreg.reproduce.store import Store
from sag_vicreg.reproduce.tables import (
    Column,
    Row,
    Table,
    assemble,
    average,
    paper_numbers,
    paper_row,
)
from sag_vicreg.scores import Score

__all__ = [
    "DECLARATIONS",
    "SUFFIXES",
    "Campaign",
    "Choices",
    "Column",
    "Declaration",
    "Evaluation",
    "Row",
    "Score",
    "Store",
    "Table",
    "Target",
    "WorkerPool",
    "assemble",
    "average",
    "declaration",
    "outline",
    "paper_numbers",
    "paper_row",
    "parse_options",
    "plan_targets",
    "render",
    "request_table",
    "run_grid",
]
