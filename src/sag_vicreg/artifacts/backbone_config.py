"""``config.json``: what timm needs to build a run's backbone again, in timm's own layout."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from sag_vicreg.door import Kind, read_json

CONFIG = Kind("the description of a backbone", "copy it again from where it was trained", 1 << 20)
Channels = tuple[float, float, float]
_Spread = Annotated[float, Field(gt=0)]
_Side = Annotated[int, Field(ge=1, le=16_384)]


@dataclass(frozen=True)
class BackboneConfig:
    """A timm model by name and arguments, the pixels it was trained on, its weights' checksum."""

    architecture: str
    model_args: Mapping[str, Any]
    image_size: int
    mean: Channels
    std: Channels
    sha256: str | None


class _Pixels(BaseModel):
    model_config = ConfigDict(allow_inf_nan=False)

    input_size: tuple[Annotated[int, Field(ge=3, le=3)], _Side, _Side]
    mean: Channels
    std: tuple[_Spread, _Spread, _Spread]


class _Origin(BaseModel):
    sha256: str | None = None  # an export of before has none


class _File(BaseModel):
    architecture: str
    model_args: dict[str, Any] = Field(default_factory=dict)
    pretrained_cfg: _Pixels
    sag_vicreg: _Origin = _Origin()


def read_backbone_config(path: Path | str) -> BackboneConfig:
    """Read ``config.json``: three channels, a size, a finite mean and a positive deviation."""
    found = read_json(path, CONFIG, _File)
    pixels = found.pretrained_cfg
    return BackboneConfig(
        found.architecture,
        found.model_args,
        pixels.input_size[-1],
        pixels.mean,
        pixels.std,
        found.sag_vicreg.sha256,
    )
