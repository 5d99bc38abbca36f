"""Every method, declared once: its section of a recipe, its class, its packaged recipes.

A section's keys are the numbers of its paper.
"""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, cast, get_args

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializeAsAny,
    TypeAdapter,
    WrapValidator,
    model_validator,
)
from pydantic import ValidatorFunctionWrapHandler as Handler

from sag_vicreg.plugins import Plugins
from sag_vicreg.walk_options import Around, ScaleOver, WalkOptions

Positive = Annotated[int, Field(gt=0)]
PositiveFloat = Annotated[float, Field(gt=0)]
Weight = Annotated[float, Field(ge=0)]
Share = Annotated[float, Field(ge=0, le=1)]
OpenShare = Annotated[float, Field(gt=0, lt=1)]
Range = Annotated[tuple[float, float], Field(strict=False)]
Widths = Annotated[tuple[Positive, ...], Field(strict=False, min_length=1)]


class Section(BaseModel):
    """A recipe or a part of one: frozen, it knows its keys and takes no others."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class PackagedRecipe(NamedTuple):
    """A recipe for every packaged dataset: ``DATASET/name``.

    ``family`` is whose backbone it trains, a file in ``library/families``; ``title`` is how tables
    write it. One that differs from its method has a file of its own in ``library/methods``.
    """

    name: str
    family: Literal["resnet", "vit"]
    title: str
    own_file: bool = False


PackagedRecipes = tuple[PackagedRecipe, ...]


class MethodSettings(Section):
    """What every method declares beside its numbers.

    Attributes
    ----------
    implementation
        ``package.module:Class``, which is loaded when it is needed. The keys of the section but
        ``name`` are what its ``from_numbers`` takes.
    recipes
        Its packaged recipes. Of another package at most one, with the method's own name.
    takes
        Views of an image.
    fragments
        Of another package: what a file of its own in ``recipes/library/methods`` would hold.
    """

    implementation: ClassVar[str]
    recipes: ClassVar[PackagedRecipes] = ()
    takes: ClassVar[range] = range(2, 3)
    fragments: ClassVar[tuple[Mapping[str, Any], ...]] = ()

    @classmethod
    def title(cls) -> str:
        """Return how the method is written for people."""
        return cls.recipes[0].title if cls.recipes else cls.method_name()

    @classmethod
    def method_name(cls) -> str:
        """Return the one value that the key ``name`` takes."""
        field = cls.model_fields.get("name")
        return str(next(iter(get_args(field.annotation)), "")) if field is not None else ""

    def addressed(self) -> dict[str, Any]:
        """Return what counts in a recipe's digest."""
        return self.model_dump(mode="json")


class WalkSettings(MethodSettings):
    """The random walk over the batch's similarity graph.

    Defaults are the paper's literal reading, because a recipe that was saved before a key existed
    was trained so. Packaged recipes name the reading they take.
    """

    # Newer than published results: at these defaults they change nothing, nor a recipe's digest.
    newer: ClassVar[tuple[str, ...]] = ("around",)
    # Readings that the study of the walk tried and rejected, and what recipes of its time say of
    # them where they took none.
    rejected: ClassVar[dict[str, Any]] = {
        "stay_home": False,
        "crossed": False,
        "neighbors_in": "embedding",
        "walk_ramp": 0,
        "walk_share": 1,
        "partners": "walk",
        "partner_weight": 1,
        "memory": 0,
    }

    k: Positive = 5
    percentile: Annotated[float, Field(ge=0, le=100)] = 20.0
    scale_over: ScaleOver = "batch"
    around: Around = "view"  # whose neighbours: z_i's or its own view's
    walk_after: Share = 0.0  # share of training on plain pairs before the walk starts

    @model_validator(mode="before")
    @classmethod
    def _without_rejected(cls, content: Any) -> Any:
        if not isinstance(content, dict):
            return content
        for key in cls.rejected.keys() & content.keys():
            if content[key] != cls.rejected[key]:
                raise ValueError(
                    f"method.{key} is no longer there, as the study of the walk rejected it: "
                    "leave it out"
                )
        return {key: value for key, value in content.items() if key not in cls.rejected}

    def addressed(self) -> dict[str, Any]:
        """Leave out keys that came later and say what was done before there were any."""
        fields = type(self).model_fields
        same = {key for key in self.newer if getattr(self, key) == fields[key].default}
        return self.model_dump(mode="json", exclude=same)

    def options(self) -> WalkOptions:
        """Return what :class:`~sag_vicreg.pairing.RandomWalkPairing` takes beside ``k``."""
        return cast(
            WalkOptions, {name: getattr(self, name) for name in WalkOptions.__annotations__}
        )


class VICRegSection(MethodSettings):
    """VICReg: expander widths and the weights of its three terms."""

    implementation: ClassVar = "sag_vicreg.methods.vicreg:VICReg"
    recipes: ClassVar[PackagedRecipes] = (
        PackagedRecipe("vicreg", "resnet", "VICReg"),
        PackagedRecipe("vicreg-vit", "vit", "VICReg"),
    )
    name: Literal["vicreg"]
    expander: Widths
    invariance_weight: Weight = 25.0
    variance_weight: Weight = 25.0
    covariance_weight: Weight = 1.0


class SAGVICRegSection(WalkSettings, VICRegSection):
    """SAG-VICReg: VICReg on the walk's pairs."""

    implementation: ClassVar = "sag_vicreg.methods.vicreg:SAGVICReg"
    recipes: ClassVar[PackagedRecipes] = (
        PackagedRecipe("sag-vicreg", "resnet", "SAG-VICReg"),
        PackagedRecipe("sag-vicreg-literal", "resnet", "SAG-VICReg (literal)", own_file=True),
        PackagedRecipe("sag-vicreg-vit", "vit", "SAG-VICReg"),
    )
    name: Literal["sag-vicreg"]  # type: ignore[assignment]


class PairingSettings(WalkSettings):
    """SAG in front of another two-view method; ``views`` are that method's own pairs."""

    pairing: Literal["views", "random_walk"] = "views"

    def addressed(self) -> dict[str, Any]:
        """Of a walk that nobody takes, write what was written when results were first published."""
        if self.pairing == "views":
            return self.model_dump(mode="json", exclude=set(self.newer)) | {"scale_over": "batch"}
        return super().addressed()


class SimCLRSection(PairingSettings):
    """SimCLR: NT-Xent over a projection head."""

    implementation: ClassVar = "sag_vicreg.methods.simclr:SimCLR"
    recipes: ClassVar[PackagedRecipes] = (PackagedRecipe("simclr", "resnet", "SimCLR"),)
    name: Literal["simclr"]
    head: Widths
    temperature: PositiveFloat = 0.5


class BarlowTwinsSection(PairingSettings):
    """Barlow Twins: cross-correlation to identity."""

    implementation: ClassVar = "sag_vicreg.methods.barlow_twins:BarlowTwins"
    recipes: ClassVar[PackagedRecipes] = (PackagedRecipe("barlow-twins", "resnet", "Barlow Twins"),)
    name: Literal["barlow-twins"]
    expander: Widths
    redundancy_weight: Weight = 5e-3


class DINOSection(MethodSettings):
    """DINO: self-distillation from a momentum teacher."""

    takes: ClassVar[range] = range(2, 1000)  # two global views, any number of local ones
    implementation: ClassVar = "sag_vicreg.methods.dino:DINO"
    recipes: ClassVar[PackagedRecipes] = (PackagedRecipe("dino", "vit", "DINO"),)
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
    implementation: ClassVar = "sag_vicreg.methods.mae:MAE"
    recipes: ClassVar[PackagedRecipes] = (PackagedRecipe("mae", "vit", "MAE"),)
    name: Literal["mae"]
    mask_ratio: OpenShare = 0.75
    decoder_dim: Positive = 512
    decoder_depth: Positive = 8
    decoder_heads: Positive = 16
    normalize_targets: bool = True


class IJEPASection(MethodSettings):
    """I-JEPA: predict the target encoder's patches from a context block."""

    takes: ClassVar[range] = range(1, 2)
    implementation: ClassVar = "sag_vicreg.methods.i_jepa:IJEPA"
    recipes: ClassVar[PackagedRecipes] = (PackagedRecipe("i-jepa", "vit", "I-JEPA"),)
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


_BuiltIn = Annotated[
    VICRegSection
    | SAGVICRegSection
    | SimCLRSection
    | BarlowTwinsSection
    | DINOSection
    | MAESection
    | IJEPASection,
    Field(discriminator="name"),
]

METHODS: dict[str, type[MethodSettings]] = {
    section.method_name(): section for section in get_args(get_args(_BuiltIn)[0])
}
"""Every method that is built in, by name."""


def _problem(found: Any, name: str) -> str | None:
    if not (isinstance(found, type) and issubclass(found, MethodSettings)):
        return "is no subclass of sag_vicreg.recipes.MethodSettings"
    if found.method_name() != name:
        return f'does not have the key `name: Literal["{name}"]`'
    if ":" not in getattr(found, "implementation", ""):
        return "does not say in `implementation` which package.module:Class implements it"
    if [recipe.name for recipe in found.recipes] not in ([], [name]):
        return f"has other recipes than one that is called {name}"
    return None


METHOD_PLUGINS: Plugins[type[MethodSettings]] = Plugins(
    "method",
    {*METHODS, *(recipe.name for section in METHODS.values() for recipe in section.recipes)},
    _problem,
)
"""Methods of other packages."""


def find_method(name: str) -> type[MethodSettings] | None:
    """Find a method's section, here or in another package."""
    return METHODS.get(name) or METHOD_PLUGINS.find(name)


def _of_any_package(given: Any, handler: Handler) -> Any:
    """Check a section by the model of the package that brings its method."""
    name = given.get("name") if isinstance(given, dict) else None
    if not isinstance(name, str) or name in METHODS:
        return given if isinstance(given, MethodSettings) else handler(given)
    section = METHOD_PLUGINS.find(name)
    if section is None:
        return handler(given)
    # A union of two, so that a mistake is located as it is in a section of ours.
    either = Annotated[section | VICRegSection, Field(discriminator="name")]  # type: ignore[valid-type]
    return TypeAdapter(either).validate_python(given)


MethodSection = Annotated[SerializeAsAny[_BuiltIn], WrapValidator(_of_any_package)]
