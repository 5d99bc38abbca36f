"""Gaussian blur of a batch, every image its own sigma, as two matrix products."""

import torch
from torch import Tensor


def gaussian_blur(images: Tensor, sigma: Tensor) -> Tensor:
    """Blur images (n, 3, s, s) by ``sigma`` pixels (n,); edges are mirrored, as in torchvision.

    A Gaussian is separable and linear, so image i becomes ``B @ image @ B.T`` with one matrix of
    weights. Sigmas of a 32 px recipe reach one pixel far; the matrix costs the same at any sigma.
    """
    n, channels, size, _ = images.shape
    blur = _blur_matrix(sigma.to(images.device), size)
    sideways = images.reshape(n, channels * size, size) @ blur.mT
    by_row = sideways.view(n, channels, size, size).transpose(1, 2)
    blurred = blur @ by_row.reshape(n, size, channels * size)
    return blurred.view(n, size, channels, size).transpose(1, 2)


def _blur_matrix(sigma: Tensor, size: int) -> Tensor:
    """Weights (n, size, size) of every input pixel in every output pixel."""
    place = torch.arange(size, dtype=torch.float32, device=sigma.device)
    narrowness = (-0.5 / sigma**2)[:, None, None]

    def gauss(seen_at: Tensor) -> Tensor:
        # Kept from underflowing: subnormal numbers slow a CPU down a hundredfold.
        exponent = narrowness * (seen_at - place[:, None]) ** 2
        return exponent.clamp_(min=-50).exp_()

    # Beyond the edge the image is seen mirrored; the edge pixels themselves are not seen twice.
    weight = gauss(place)
    weight[:, :, 1:] += gauss(-place[1:])
    weight[:, :, :-1] += gauss(2 * (size - 1) - place[:-1])
    return weight / weight.sum(dim=2, keepdim=True)
