"""What the rows of a file of embeddings are: kept in the file itself, whatever it is called."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Annotated, Literal

from pydantic import Field

from sag_vicreg.door import check_form


@dataclass(frozen=True)
class Contents:
    """The images behind the rows, and the model that embedded them.

    Attributes
    ----------
    dataset, split, classes, seed, max_images
        As they were given to :func:`~sag_vicreg.data.load_dataset`; several class names are
        separated by commas.
    model
        The digest of a run's recipe, or the name of a timm model.
    made_by
        ``embed`` where a user asked for the file; ``reproduce`` where a table or a figure made it
        on its way. Only the first is picked without being named.
    """

    dataset: str
    split: str
    classes: str
    seed: Annotated[int, Field(ge=0)]
    model: str
    max_images: Annotated[int, Field(ge=1)] | None = None
    made_by: Literal["embed", "reproduce"] = "embed"

    @property
    def images(self) -> "Contents":
        """The same without the model: equal for files of the same images."""
        return replace(self, model="", made_by="embed")

    def to_metadata(self) -> dict[str, str]:
        """Return what :func:`write_embeddings` keeps with the file."""
        return {name: str(value) for name, value in asdict(self).items() if value is not None}


def contents_of(metadata: Mapping[str, str]) -> Contents | None:
    """Return what a file's metadata says of its rows; None where it does not say it."""
    if not {"dataset", "split", "classes", "seed", "model"} <= metadata.keys():
        return None
    return check_form(metadata, Contents)
