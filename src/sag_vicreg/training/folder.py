"""The folder of a run: whose it is, and the recipe that makes it a run."""

import importlib.metadata

from sag_vicreg.artifacts import Run, write_text
from sag_vicreg.errors import InputError
from sag_vicreg.recipes import (
    DATASET_PLUGINS,
    METHOD_PLUGINS,
    Recipe,
    find_dataset,
    load_recipe,
)
from sag_vicreg.recipes.schema import VERSIONED
from sag_vicreg.training.claim import LOCK


def check_folder(run: Run, recipe: Recipe, *, resume: bool) -> None:
    """Refuse a folder that is not this recipe's, or not for the asking."""
    if run.recipe.exists():
        found = load_recipe(run.recipe)
        if found.digest() != recipe.digest():
            raise InputError(
                f"{run.folder} already holds another recipe ({found.name}, {found.digest()}; this "
                f"one is {recipe.name}, {recipe.digest()}): choose another folder"
            )
        if not resume:
            raise InputError(
                f"{run.folder} already holds a run of this recipe: `{run.resume_command}` goes on "
                "with it"
            )
    elif resume:
        raise InputError(f"nothing to resume in {run.folder}: it holds no {run.recipe.name}")
    elif run.folder.exists() and not _is_fresh(run):
        raise InputError(f"{run.folder} is not an empty folder and holds no run: choose another")


def _is_fresh(run: Run) -> bool:
    """Whether the folder is empty, but for its lock and a recipe that a killed process began."""
    if not run.folder.is_dir():
        return False
    begun = f".{run.recipe.stem}-*{run.recipe.suffix}"
    return all(path.match(begun) or path.name == LOCK for path in run.folder.iterdir())


def write_recipe(run: Run, recipe: Recipe) -> None:
    """Write the complete recipe, with the versions that run it, once nothing is left to refuse."""
    if not run.recipe.exists():
        for leftover in run.folder.glob(f".{run.recipe.stem}-*"):
            leftover.unlink()
        versions = {name: importlib.metadata.version(name) for name in VERSIONED}
        versions |= METHOD_PLUGINS.version(recipe.method.name)
        dataset = find_dataset(recipe.dataset.name)
        versions |= {} if dataset is None else DATASET_PLUGINS.version(dataset.name)
        write_text(run.recipe, recipe.model_copy(update={"versions": versions}).to_yaml())
