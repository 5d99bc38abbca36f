"""From scores to decisions: check files, gate a new set, find the cheapest that passes.

Neither labels nor PyTorch are needed.

>>> from sag_vicreg.decisions import gate
>>> decision = gate(old, new)  # doctest: +SKIP
>>> decision.outcome, decision.sentence  # doctest: +SKIP
"""

from sag_vicreg.decisions.checking import check_join, check_set
from sag_vicreg.decisions.checks import JoinCheck, SetCheck
from sag_vicreg.decisions.floor import Floor, Limit, calibrate
from sag_vicreg.decisions.formats import decision_junit, decision_markdown
from sag_vicreg.decisions.gate import TOLERANCE, Decision, decide, gate
from sag_vicreg.decisions.moved import Naming, branch_lines, moved_lines, mover_lines, movers_csv
from sag_vicreg.decisions.selftest import Planted, SelfTest, selftest
from sag_vicreg.decisions.settings import ITEMS, Settings
from sag_vicreg.decisions.sweep import BITS, Candidate, Sweep, sweep
from sag_vicreg.decisions.testing import assert_same_structure, structure_scorer

__all__ = [
    "BITS",
    "ITEMS",
    "TOLERANCE",
    "Candidate",
    "Decision",
    "Floor",
    "JoinCheck",
    "Limit",
    "Naming",
    "Planted",
    "SelfTest",
    "SetCheck",
    "Settings",
    "Sweep",
    "assert_same_structure",
    "branch_lines",
    "calibrate",
    "check_join",
    "check_set",
    "decide",
    "decision_junit",
    "decision_markdown",
    "gate",
    "moved_lines",
    "mover_lines",
    "movers_csv",
    "selftest",
    "structure_scorer",
    "sweep",
]
