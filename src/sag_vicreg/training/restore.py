"""The whole trained method of a run, heads and decoders included, from its last checkpoint."""

from sag_vicreg.artifacts import Run
from sag_vicreg.errors import InputError
from sag_vicreg.methods import Method, make_method
from sag_vicreg.recipes import Recipe
from sag_vicreg.training.checkpoint import CheckpointStore
from sag_vicreg.training.module import load_method


def restore_method(run: Run, recipe: Recipe) -> Method:
    """Load the method of ``run`` as training left it, in evaluation mode.

    The exported backbone needs none of this; what trained it (an expander, a decoder) is only in
    the checkpoint.
    """
    restored = CheckpointStore(run, recipe.digest()).restore()
    if restored is None:
        raise InputError(f"{run.folder} keeps no checkpoint: train it again for its heads")
    method = make_method(recipe)
    load_method(method, restored.content["method"], restored.path)
    return method.eval()
