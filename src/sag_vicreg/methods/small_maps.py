"""Convolutions of maps no larger than their kernel, as matrix products.

A stock ResNet halves a 32 x 32 image down to maps of 2 x 2 and 1 x 1 pixels. There a 3 x 3 kernel
reaches beyond the map on all sides, and most of a convolution's work multiplies padding: 5/9 of it
at 2 x 2, 8/9 at 1 x 1. Every output pixel then sees every input pixel, through some window of the
kernel, so the layer is one dense matrix, made of those windows. Half of ResNet-34's layers are so.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional


class SmallMapConv2d(nn.Conv2d):
    """``nn.Conv2d``, the same to rounding, that spends nothing on padding where maps are small."""

    @classmethod
    def like(cls, layer: nn.Conv2d) -> "SmallMapConv2d":
        """Make one of the same shape that shares ``layer``'s parameters."""
        twin = cls(
            layer.in_channels,
            layer.out_channels,
            layer.kernel_size,  # type: ignore[arg-type]
            layer.stride,  # type: ignore[arg-type]
            layer.padding,  # type: ignore[arg-type]
            bias=layer.bias is not None,
            device="meta",
        )
        twin.weight, twin.bias = layer.weight, layer.bias
        return twin

    def forward(self, x: Tensor) -> Tensor:
        """Convolve, by the windows of the kernel where each of them covers the map."""
        # Measured on CPUs only: other devices keep the kernels written for them.
        if x.device.type != "cpu" or max(x.shape[2:]) > max(self.kernel_size):
            return super().forward(x)
        rows, columns = (self._windows(axis, size) for axis, size in enumerate(x.shape[2:]))
        if rows is None or columns is None:
            return super().forward(x)
        # Channels last, as x and the weights are stored in training: views, not copies.
        kernel = self.weight.permute(0, 2, 3, 1)
        dense = torch.stack([kernel[:, row, column] for row in rows for column in columns])
        out = functional.linear(x.permute(0, 2, 3, 1).flatten(1), dense.flatten(0, 1).flatten(1))
        out = out.view(len(x), len(rows), len(columns), self.out_channels)
        return (out if self.bias is None else out + self.bias).permute(0, 3, 1, 2)

    def _windows(self, axis: int, size: int) -> list[slice] | None:
        """Return the part of the kernel that lies on the map at each output position.

        None where the map is not wholly under the kernel at every one of them.
        """
        kernel, stride, padding = (
            int(setting[axis]) for setting in (self.kernel_size, self.stride, self.padding)
        )
        positions = (size + 2 * padding - kernel) // stride + 1
        starts = [padding - position * stride for position in range(positions)]
        if min(starts, default=-1) < 0 or max(starts) + size > kernel:
            return None
        return [slice(start, start + size) for start in starts]


def speed_up_small_maps(network: nn.Module) -> nn.Module:
    """Replace the convolutions of ``network`` that may meet small maps; names and weights stay."""
    for name, layer in list(network.named_modules()):
        if type(layer) is nn.Conv2d and _plain(layer):
            network.set_submodule(name, SmallMapConv2d.like(layer))
    return network


def _plain(layer: nn.Conv2d) -> bool:
    return (
        layer.groups == 1
        and set(layer.dilation) == {1}
        and layer.padding_mode == "zeros"
        and not isinstance(layer.padding, str)
        and max(layer.kernel_size) > 1
    )
