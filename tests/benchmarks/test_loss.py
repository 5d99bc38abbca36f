"""The benchmark compares equals."""

import torch

from benchmarks.loss import LOSSES, forward_and_backward, make_views


def gradients(name: str, shape: tuple[int, int]) -> list[torch.Tensor]:
    views = make_views(shape)
    torch.manual_seed(0)
    forward_and_backward(name, views)
    return [view.grad for view in views if view.grad is not None]


def test_candidates_compute_the_same_gradients() -> None:
    peers = {"VICReg": "lightly's VICReg", "SAG-VICReg": "SAG by d x d side"}
    assert {*peers, *peers.values()} == set(LOSSES)
    for name, peer in peers.items():
        for ours, theirs in zip(gradients(name, (24, 64)), gradients(peer, (24, 64)), strict=True):
            torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-6)
