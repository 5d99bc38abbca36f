"""Views: what a method sees of an image, made for whole batches on the training device."""

from sag_vicreg.data.views.kinds import VIEW_KINDS, MultiCrop, TwoViews, Views, make_views
from sag_vicreg.data.views.pixels import IMAGE_MEAN, IMAGE_STD, denormalize, normalize
from sag_vicreg.data.views.view import ViewDraw, ViewRecipe

__all__ = [
    "IMAGE_MEAN",
    "IMAGE_STD",
    "VIEW_KINDS",
    "MultiCrop",
    "TwoViews",
    "ViewDraw",
    "ViewRecipe",
    "Views",
    "denormalize",
    "make_views",
    "normalize",
]
