"""The evidence: every table and figure of the paper, declared, and the grid that makes them.

What a campaign of your own needs is here.
"""

from sag_vicreg.reproduce.campaign import Campaign, Target
from sag_vicreg.reproduce.declarations import (
    DECLARATIONS,
    FORESTS,
    Declaration,
    ImageSet,
    Setting,
    TrainingSet,
    declaration,
)
from sag_vicreg.reproduce.embedding import PUBLISHED_IMAGES, embed_once, published_file
from sag_vicreg.reproduce.forests import complete_forests, forest_scores
from sag_vicreg.reproduce.formats import SUFFIXES, render, to_markdown
from sag_vicreg.reproduce.grid import WorkerPool, outline, run_grid
from sag_vicreg.reproduce.plan import (
    OPTIONS,
    UNWATCHED,
    Evaluation,
    Overrides,
    evaluation,
    evaluation_of,
)
from sag_vicreg.reproduce.requests import Choices, parse_options, plan_targets, request_table
from sag_vicreg.reproduce.scoring import knn_within
from sag_vicreg.reproduce.search import (
    CRITERION,
    chosen_rate,
    rate_of,
    search_evaluations,
    tuned_by,
)
from sag_vicreg.reproduce.store import Store
from sag_vicreg.reproduce.tables import (
    FOREST_NOTE,
    Column,
    Row,
    Table,
    assemble,
    average,
    by_seed,
    finished,
    of_method,
    paper_numbers,
    paper_row,
)
from sag_vicreg.scores import Score

__all__ = [
    "CRITERION",
    "DECLARATIONS",
    "FORESTS",
    "FOREST_NOTE",
    "OPTIONS",
    "PUBLISHED_IMAGES",
    "SUFFIXES",
    "UNWATCHED",
    "Campaign",
    "Choices",
    "Column",
    "Declaration",
    "Evaluation",
    "ImageSet",
    "Overrides",
    "Row",
    "Score",
    "Setting",
    "Store",
    "Table",
    "Target",
    "TrainingSet",
    "WorkerPool",
    "assemble",
    "average",
    "by_seed",
    "chosen_rate",
    "complete_forests",
    "declaration",
    "embed_once",
    "evaluation",
    "evaluation_of",
    "finished",
    "forest_scores",
    "knn_within",
    "of_method",
    "outline",
    "paper_numbers",
    "paper_row",
    "parse_options",
    "plan_targets",
    "published_file",
    "rate_of",
    "render",
    "request_table",
    "run_grid",
    "search_evaluations",
    "to_markdown",
    "tuned_by",
]
