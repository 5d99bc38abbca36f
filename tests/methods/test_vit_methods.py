"""DINO, MAE and I-JEPA against their papers' formulas, written out a second time here."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from sag_vicreg.errors import InputError
from sag_vicreg.methods import Method, Moment, make_method
from sag_vicreg.methods.dino import DINO
from sag_vicreg.methods.i_jepa import IJEPA
from sag_vicreg.methods.mae import MAE
from sag_vicreg.methods.masks import random_masks
from sag_vicreg.methods.transformer import masked
from sag_vicreg.recipes import load_recipe

N = 6


def moment(step: int = 0, total_steps: int = 10, n: int = N) -> Moment:
    return Moment(
        seed=3, epoch=0, step=step, total_steps=total_steps, batch_size=n, rows=slice(0, n)
    )


def images(n: int = N, size: int = 32, seed: int = 0) -> Tensor:
    return torch.randn(n, 3, size, size, generator=torch.Generator().manual_seed(seed))


def crops(n: int = N) -> list[Tensor]:
    return [images(n, 32 if i < 2 else 16, seed=i) for i in range(5)]


def views(name: str, n: int = N) -> list[Tensor]:
    return crops(n) if name == "dino" else [images(n)]


def smoke(name: str, *overrides: str) -> Method:
    torch.manual_seed(0)
    return make_method(load_recipe(f"shapes/{name}", scale="smoke", overrides=overrides))


@pytest.fixture
def dino() -> DINO:
    method = smoke("dino", "method.teacher_temperature=0.07", "method.momentum=0.996")
    assert isinstance(method, DINO)
    return method


@pytest.fixture
def mae() -> MAE:
    method = smoke("mae")
    assert isinstance(method, MAE)
    return method


@pytest.fixture
def i_jepa() -> IJEPA:
    method = smoke("i-jepa", "method.momentum=0.996")
    assert isinstance(method, IJEPA)
    return method


@pytest.mark.parametrize("name", ["dino", "i-jepa"])
def test_nothing_is_dropped_from_what_is_followed(name: str) -> None:
    """Stochastic depth and dropout are the student's: a target must not depend on chance."""
    drops = [f"backbone.args.{each}_rate=0.5" for each in ("drop_path", "proj_drop", "pos_drop")]
    method = smoke(name, *drops)
    assert isinstance(method, DINO | IJEPA)
    teacher = method.teacher if isinstance(method, DINO) else method.target
    assert method.training
    assert torch.equal(teacher(images()), teacher(images()))
    assert not torch.equal(method.backbone(images()), method.backbone(images()))


@pytest.mark.parametrize("name", ["dino", "mae", "i-jepa"])
def test_everything_that_trains_gets_a_gradient_and_nothing_else(name: str) -> None:
    method = smoke(name)
    terms = method(views(name), moment())
    assert list(terms.parts.values()) == [terms.total]
    terms.total.backward()
    for parameter, values in method.named_parameters():
        assert (values.grad is not None) == values.requires_grad, parameter


@pytest.mark.parametrize("name", ["dino", "mae", "i-jepa"])
def test_the_state_holds_everything_a_resume_needs(name: str) -> None:
    """Step once, save, load into fresh weights, step again on both: the same to the bit."""

    def step(method: Method, optimizer: torch.optim.Optimizer, at: int) -> Tensor:
        terms = method(views(name), moment(at))
        optimizer.zero_grad()
        terms.total.backward()
        method.after_backward(moment(at))
        optimizer.step()
        method.after_step(moment(at))
        return terms.total.detach()

    def optimizer_of(method: Method) -> torch.optim.Optimizer:
        return torch.optim.SGD([p for p in method.parameters() if p.requires_grad], lr=0.1)

    first = smoke(name)
    optimizer = optimizer_of(first)
    losses = [step(first, optimizer, at) for at in range(3)]
    assert len(set(map(float, losses))) == 3
    saved = {key: value.clone() for key, value in first.state_dict().items()}
    assert not any(key.startswith("_masked") for key in saved)
    torch.manual_seed(99)
    second = make_method(load_recipe(f"shapes/{name}", scale="smoke"))
    second.load_state_dict(saved)
    one, two = step(first, optimizer, 3), step(second, optimizer_of(second), 3)
    assert torch.equal(one, two)
    for key, value in first.state_dict().items():
        assert torch.equal(value, second.state_dict()[key]), key


def test_vit_methods_are_built_from_parts_too() -> None:
    from sag_vicreg.methods import dino_head, make_backbone

    args = {"img_size": 32, "patch_size": 4, "embed_dim": 48, "depth": 2, "num_heads": 3}
    torch.manual_seed(1)
    heads = [dino_head(48, hidden_dim=64, bottleneck_dim=32, prototypes=128) for _ in range(2)]
    pooled = args | {"global_pool": "avg", "fc_norm": False}
    parts = {
        "dino": DINO(
            make_backbone("vit_tiny_patch16_224", args | {"dynamic_img_size": True}),
            *heads,
            student_temperature=0.1,
            teacher_temperature=0.04,
            warmup_teacher_temperature=0.04,
            temperature_warmup_share=0.3,
            center_momentum=0.9,
            momentum=0.98,
            freeze_last_layer_share=0.05,
        ),
        "mae": MAE(
            make_backbone("vit_tiny_patch16_224", pooled),
            mask_ratio=0.75,
            decoder_dim=32,
            decoder_depth=1,
            decoder_heads=4,
            normalize_targets=True,
        ),
        "i-jepa": IJEPA(
            make_backbone("vit_tiny_patch16_224", pooled | {"class_token": False}),
            target_blocks=4,
            target_scale=(0.15, 0.2),
            target_aspect=(0.75, 1.5),
            context_scale=(0.85, 1.0),
            min_context_patches=10,
            predictor_dim=24,
            predictor_depth=1,
            predictor_heads=3,
            momentum=0.99,
        ),
    }
    for name, method in parts.items():
        recipes = smoke(name)
        method.load_state_dict(recipes.state_dict())
        assert torch.equal(
            method(views(name), moment(3)).total, recipes(views(name), moment(3)).total
        )


# DINO


def test_dino_is_the_official_loss(dino: DINO) -> None:
    dino.dino.center.normal_(generator=torch.Generator().manual_seed(5))
    center = dino.dino.center.clone().reshape(-1)
    at = moment(step=2)
    loss = dino(crops(), at).total
    temperature = 0.04 + (0.07 - 0.04) * 0.2 / 0.3
    teacher = [dino.teacher_head(dino.teacher(view)) for view in crops()[:2]]
    student = [dino.head(dino.backbone(view)) for view in crops()]
    terms = [
        -(((t - center) / temperature).softmax(dim=1) * (s / 0.1).log_softmax(dim=1)).sum(dim=1)
        for i, t in enumerate(teacher)
        for j, s in enumerate(student)
        if i != j
    ]
    assert len(terms) == 2 * 5 - 2
    torch.testing.assert_close(loss, torch.stack(terms).mean())
    moved = 0.9 * center + 0.1 * torch.cat(teacher).mean(dim=0)
    torch.testing.assert_close(dino.dino.center.reshape(-1), moved)


def test_dinos_temperature_rises_then_stays(dino: DINO) -> None:
    values = [dino.temperature_at(moment(step, 100)) for step in (0, 15, 30, 99)]
    assert values == pytest.approx([0.04, 0.055, 0.07, 0.07])


def test_dinos_teacher_follows_ever_more_slowly_and_is_what_embeds(dino: DINO) -> None:
    assert dino.encoder is dino.teacher
    before = {key: value.clone() for key, value in dino.teacher.state_dict().items()}
    for parameter in (*dino.backbone.parameters(), *dino.head.parameters()):
        parameter.data += 1
    head_before = dino.teacher_head.last_layer.weight_v.clone()
    dino.after_step(moment(step=4, total_steps=9))  # half way along the cosine
    momentum = 1 - (1 - 0.996) * (math.cos(math.pi * 0.5) + 1) / 2
    for key, student in dino.backbone.named_parameters():
        expected = momentum * before[key] + (1 - momentum) * student.detach()
        torch.testing.assert_close(dino.teacher.state_dict()[key], expected)
    assert not torch.equal(dino.teacher_head.last_layer.weight_v, head_before)
    held = dino.teacher.cls_token.clone()
    dino.after_step(moment(step=8, total_steps=9))  # the last: momentum 1
    assert torch.equal(dino.teacher.cls_token, held)


def test_dinos_last_layer_waits(dino: DINO) -> None:
    share = dino.freeze_last_layer_share  # 0.05 of 100 steps: the first five
    for step, frozen in ((0, True), (4, True), (5, False)):
        dino.zero_grad()
        at = moment(step=step, total_steps=100)
        dino(crops(), at).total.backward()
        dino.after_backward(at)
        assert (dino.head.last_layer.weight_v.grad is None) == frozen
        assert dino.head.layers[0].weight.grad is not None
    assert share == 0.05


def test_dinos_embedding_is_the_class_token(dino: DINO) -> None:
    tokens = dino.teacher.forward_features(images())  # type: ignore[operator]
    torch.testing.assert_close(dino.encoder(images()), tokens[:, 0])


# MAE


def patches_of(pictures: Tensor, patch: int) -> Tensor:
    """(n, patches, pixels) by slicing, pixels in MAE's order: row, column, channel."""
    size = pictures.shape[-1]
    cut = [
        pictures[:, :, y : y + patch, x : x + patch].permute(0, 2, 3, 1).flatten(1)
        for y in range(0, size, patch)
        for x in range(0, size, patch)
    ]
    return torch.stack(cut, dim=1)


def test_mae_scores_masked_patches_against_their_own_mean_and_deviation(mae: MAE) -> None:
    loss = mae([images()], moment()).total
    visible, masked = random_masks(N, 64, mask_ratio=0.75, generator=moment().generator("masks"))
    assert masked.shape == (N, 48)
    predicted = mae.predict(images(), visible)
    patches = patches_of(images(), 4)
    errors = []
    for i in range(N):
        for p in masked[i].tolist():
            target = patches[i, p]
            target = (target - target.mean()) / (target.var() + 1e-6).sqrt()
            errors.append((predicted[i, p] - target).square().mean())
    torch.testing.assert_close(loss, torch.stack(errors).mean())


def test_mae_can_score_plain_pixels() -> None:
    mae = smoke("mae", "method.normalize_targets=false")
    assert isinstance(mae, MAE)
    torch.testing.assert_close(mae.targets(images()), patches_of(images(), 4))


def test_maes_encoder_sees_visible_patches_only(mae: MAE) -> None:
    visible, masked = random_masks(N, 64, mask_ratio=0.75, generator=torch.Generator())
    original = mae.predict(images(), visible)
    changed = patches_of(images(), 4)
    changed.scatter_(1, masked[..., None].expand(-1, -1, 48), 7.0)
    picture = changed.view(N, 8, 8, 4, 4, 3).permute(0, 5, 1, 3, 2, 4).reshape(N, 3, 32, 32)
    assert not torch.equal(picture, images())
    torch.testing.assert_close(mae.predict(picture, visible), original)
    assert not torch.allclose(mae.predict(images(seed=9), visible), original)


def test_mae_knows_where_patches_are_whatever_their_order(mae: MAE) -> None:
    visible, _ = random_masks(N, 64, mask_ratio=0.75, generator=torch.Generator())
    torch.testing.assert_close(
        mae.predict(images(), visible.flip(1)), mae.predict(images(), visible)
    )
    assert not mae.backbone.pos_embed.requires_grad
    assert len(mae.backbone.pos_embed[0].unique(dim=0)) == 65


def test_maes_reconstruction_keeps_what_was_seen(mae: MAE, monkeypatch: pytest.MonkeyPatch) -> None:
    visible, masked = random_masks(N, 64, mask_ratio=0.75, generator=torch.Generator())
    grey, painted = mae.reconstruct(images(), visible)
    rows = torch.arange(N)[:, None]
    original = patches_of(images(), 4)
    for picture in (grey, painted):
        assert torch.equal(patches_of(picture, 4)[rows, visible], original[rows, visible])
    assert (patches_of(grey, 4)[rows, masked] == 0).all()
    # A perfect prediction is the original, brightness and contrast given back.
    monkeypatch.setattr(mae, "predict", lambda pictures, _: mae.targets(pictures))
    torch.testing.assert_close(mae.reconstruct(images(), visible)[1], images())


@pytest.mark.parametrize("name", ["mae", "i-jepa"])
def test_embeddings_are_the_mean_of_the_normed_patch_tokens(name: str) -> None:
    encoder = smoke(name).encoder
    tokens = encoder.forward_features(images())  # type: ignore[operator]
    patches = tokens[:, 1:] if name == "mae" else tokens
    assert patches.shape[1] == 64
    torch.testing.assert_close(encoder(images()), patches.mean(dim=1))
    # Normed token by token, before the mean.
    torch.testing.assert_close(patches.mean(dim=-1), torch.zeros(N, 64), atol=1e-5, rtol=0)


# I-JEPA


def encoder_of_some(i_jepa: IJEPA) -> Any:
    """The encoder of the context, which takes the patches it is told to keep."""
    return masked(i_jepa.backbone, "i-jepa", weight_initialization="skip")


def test_i_jepas_positions_are_not_shifted(i_jepa: IJEPA) -> None:
    """Keeping every patch is the plain encoder; keeping some is the plain one on those tokens."""
    everything = torch.arange(64).expand(N, 64)
    kept = encoder_of_some(i_jepa).encode(images(), idx_keep=everything)
    torch.testing.assert_close(kept, i_jepa.backbone.forward_features(images()))  # type: ignore[operator]
    vit = i_jepa.backbone
    keep = torch.tensor([[3, 17, 40]]).expand(N, 3)
    tokens = vit.patch_embed(images()) + vit.pos_embed  # type: ignore[operator]
    expected = vit.norm(vit.blocks(tokens[:, [3, 17, 40]]))  # type: ignore[operator]
    torch.testing.assert_close(encoder_of_some(i_jepa).encode(images(), idx_keep=keep), expected)


def test_i_jepa_is_the_loss_block_by_block(i_jepa: IJEPA) -> None:
    for parameter in i_jepa.target.parameters():  # a teacher that differs from the student
        parameter.data += 0.01
    loss = i_jepa([images()], moment()).total
    masks = i_jepa.draw_masks(N, 8, generator=moment().generator("masks"))
    losses = []
    for i in range(N):
        picture = images()[i : i + 1]
        target = F.layer_norm(i_jepa.target.forward_features(picture), (48,))[0]  # type: ignore[operator]
        context = masks.context[i : i + 1]
        encoded = encoder_of_some(i_jepa).encode(picture, idx_keep=context)
        for block in masks.targets[:, i]:
            predicted = i_jepa.predictor(encoded, context, block[None])[0]
            losses.append(F.smooth_l1_loss(predicted, target[block]))
    torch.testing.assert_close(loss, torch.stack(losses).mean())


def test_i_jepas_target_encoder_follows_linearly_to_one(i_jepa: IJEPA) -> None:
    assert i_jepa.encoder is i_jepa.target
    before = i_jepa.target.norm.weight.clone()
    i_jepa.backbone.norm.weight.data += 1
    i_jepa.after_step(moment(step=4, total_steps=10))
    torch.testing.assert_close(i_jepa.target.norm.weight, before + (1 - 0.998))
    held = i_jepa.target.norm.weight.clone()
    i_jepa.after_step(moment(step=9, total_steps=10))
    assert torch.equal(i_jepa.target.norm.weight, held)


def test_masking_something_else_than_a_vision_transformer_is_refused() -> None:
    recipe = load_recipe(
        "cifar100/mae",
        overrides=["backbone={name: swin_tiny_patch4_window7_224, args: {}}"],
    )
    recipe = recipe.model_copy(update={"backbone": recipe.backbone.model_copy(update={"args": {}})})
    with pytest.raises(InputError, match="SwinTransformer: choose one of its vit_ models"):
        make_method(recipe)


@pytest.mark.parametrize(
    ("name", "override", "message"),
    [
        ("i-jepa", "backbone.args.reg_tokens=2", "the backbone has 2 other tokens"),
        ("mae", "backbone.args.embed_dim=50", "an embed_dim that 4 divides"),
        ("mae", "backbone.args.pos_embed=none", "timm's own pos_embed"),
        ("mae", "backbone.args.no_embed_class=true", "timm's own pos_embed and class token"),
    ],
)
def test_tokens_and_positions_that_cannot_be_masked(name: str, override: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        smoke(name, override, "backbone.args.num_heads=2")
