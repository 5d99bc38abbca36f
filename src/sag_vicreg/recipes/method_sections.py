"""One section per method: the numbers of its paper."""

from typing import Annotated, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

Positive = Annotated[int, Field(gt=0)]
PositiveFloat = Annotated[float, Field(gt=0)]
Weight = Annotated[float, Field(ge=0)]
Share = Annotated[float, Field(ge=0, le=1)]
OpenShare = Annotated[float, Field(gt=0, lt=1)]
Range = Annotated[tuple[float, float], Field(strict=False)]
Widths = Annotated[tuple[Positive, ...], Field(strict=False, min_length=1)]


class Section(BaseModel):
    """A frozen part of a recipe that knows its keys and takes no others."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class MethodSettings(Section):
    """What every method's section has: how many views of an image it takes."""

    takes: ClassVar[range] = range(2, 3)


class WalkSettings(Section):
    """The random walk over the batch's similarity graph."""

    k: Positive = 5
    percentile: Annotated[float, Field(ge=0, le=100)] = 20.0
    scale_over: Literal["batch", "neighbors"] = "batch"
    walk_after: Share = 0.0  # share of training on plain pairs before the walk starts


class VICRegSection(MethodSettings):
    """VICReg: expander widths and the weights of its three terms."""

    name: Literal["vicreg"]
    expander: Widths
    invariance_weight: Weight = 25.0
    variance_weight: Weight = 25.0
    covariance_weight: Weight = 1.0


class SAGVICRegSection(VICRegSection, WalkSettings):
    """SAG-VICReg: VICReg on the walk's pairs."""

    name: Literal["sag-vicreg"]  # type: ignore[assignment]


class PairingSettings(WalkSettings, MethodSettings):
    """SAG in front of another two-view method; ``views`` are that method's own pairs."""

    pairing: Literal["views", "random_walk"] = "views"


class SimCLRSection(PairingSettings):
    """SimCLR: NT-Xent over a projection head."""

    name: Literal["simclr"]
    head: Widths
    temperature: PositiveFloat = 0.5


class BarlowTwinsSection(PairingSettings):
    """Barlow Twins: cross-correlation to identity."""

    name: Literal["barlow-twins"]
    expander: Widths
    redundancy_weight: Weight = 5e-3


class DINOSection(MethodSettings):
    """DINO: self-distillation from a momentum teacher."""

    takes: ClassVar[range] = range(2, 1000)  # two global views, any number of local ones
    name: Literal["dino"]
    hidden_dim: Positive = 2048
    bottleneck_dim: Positive = 256
    prototypes: Positive = 65536
    student_temperature: PositiveFloat = 0.1
    teacher_temperature: PositiveFloat = 0.07
    warmup_teacher_temperature: PositiveFloat = 0.04
    temperature_warmup_share: Share = 0.3
    center_momentum: Share = 0.9
    momentum: Share = 0.996  # of the teacher at the start; rises to 1 along a cosine
    freeze_last_layer_share: Share = 0.004  # of training, from the start


class MAESection(MethodSettings):
    """MAE: reconstruct the masked patches."""

    takes: ClassVar[range] = range(1, 2)
    name: Literal["mae"]
    mask_ratio: OpenShare = 0.75
    decoder_dim: Positive = 512
    decoder_depth: Positive = 8
    decoder_heads: Positive = 16
    normalize_targets: bool = True


class IJEPASection(MethodSettings):
    """I-JEPA: predict the target encoder's patches from a context block."""

    takes: ClassVar[range] = range(1, 2)
    name: Literal["i-jepa"]
    target_blocks: Positive = 4
    target_scale: Range = (0.15, 0.2)
    target_aspect: Range = (0.75, 1.5)
    context_scale: Range = (0.85, 1.0)
    min_context_patches: Positive = 10
    predictor_dim: Positive = 384
    predictor_depth: Positive = 6
    predictor_heads: Positive = 12
    momentum: Share = 0.996  # of the target encoder at the start; rises to 1


MethodSection = Annotated[
    VICRegSection
    | SAGVICRegSection
    | SimCLRSection
    | BarlowTwinsSection
    | DINOSection
    | MAESection
    | IJEPASection,
    Field(discriminator="name"),
]
