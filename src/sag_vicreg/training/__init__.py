"""From a recipe to a trained backbone, on Lightning's Trainer, and from there to embeddings."""

from sag_vicreg import torchvision_ops as torchvision_ops
from sag_vicreg.training.embedding import embed
from sag_vicreg.training.run import train

__all__ = ["embed", "train"]
