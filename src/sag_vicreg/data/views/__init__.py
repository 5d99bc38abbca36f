"""Views: what a method sees of an image, made for whole batches on the training device."""

from sag_vicreg.data.views.kinds import VIEW_KINDS, Views, make_views
from sag_vicreg.data.views.pixels import denormalize, normalize
from sag_vicreg.data.views.view import ViewDraw, ViewRecipe

__all__ = [
    "VIEW_KINDS",
    "ViewDraw",
    "ViewRecipe",
    "Views",
    "denormalize",
    "make_views",
    "normalize",
]
