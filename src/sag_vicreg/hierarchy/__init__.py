"""Class trees: which classes belong together, at every level from coarse to fine."""

from sag_vicreg.hierarchy.files import hierarchy_names, load_hierarchy
from sag_vicreg.hierarchy.tree import Hierarchy

__all__ = ["Hierarchy", "hierarchy_names", "load_hierarchy"]
