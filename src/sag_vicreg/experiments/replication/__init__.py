"""The replication on CIFAR-100 at the CPU scale: what is run, what it found, its page."""

from sag_vicreg.experiments.replication.findings import stage_tables
from sag_vicreg.experiments.replication.page import read_page, update_page
from sag_vicreg.experiments.replication.stages import DATASET, STAGES

__all__ = ["DATASET", "STAGES", "read_page", "stage_tables", "update_page"]
