"""SAG-VICReg: random-walk pairing for VICReg, and a metric that compares embeddings by their trees.

Subpackages are imported by name (``from sag_vicreg.structure import compare``), so that
``import sag_vicreg`` costs nothing and the metric never needs PyTorch.
"""

__version__ = "0.1.0"
