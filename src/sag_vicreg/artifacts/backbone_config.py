"""``config.json``: what timm needs to build a run's backbone again, in timm's own layout."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import AliasPath, BaseModel, ConfigDict, Field

from sag_vicreg.door import Kind, read_json

CONFIG = Kind("the description of a backbone", "copy it again from where it was trained", 1 << 20)
_Spread = Annotated[float, Field(gt=0)]
_Side = Annotated[int, Field(ge=1, le=16_384)]


class _Origin(BaseModel):
    model_config = ConfigDict(frozen=True)

    sha256: str | None = None  # an export of before has none


class BackboneConfig(BaseModel):
    """A timm model by name and arguments, the pixels it was trained on, its weights' checksum."""

    model_config = ConfigDict(frozen=True, allow_inf_nan=False, protected_namespaces=())

    architecture: str
    model_args: Mapping[str, Any] = Field(default_factory=dict)
    input_size: tuple[Annotated[int, Field(ge=3, le=3)], _Side, _Side] = Field(
        validation_alias=AliasPath("pretrained_cfg", "input_size")
    )
    mean: tuple[float, float, float] = Field(validation_alias=AliasPath("pretrained_cfg", "mean"))
    std: tuple[_Spread, _Spread, _Spread] = Field(
        validation_alias=AliasPath("pretrained_cfg", "std")
    )
    sag_vicreg: _Origin = _Origin()

    @property
    def sha256(self) -> str | None:
        """The weights' checksum."""
        return self.sag_vicreg.sha256

    @property
    def image_size(self) -> int:
        """Pixels of a side."""
        return self.input_size[-1]


def read_backbone_config(path: Path | str) -> BackboneConfig:
    """Read ``config.json``: three channels, a size, a finite mean and a positive deviation."""
    return read_json(path, CONFIG, BackboneConfig)
