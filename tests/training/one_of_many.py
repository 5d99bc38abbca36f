"""One process of several that train together, started as torchrun starts them.

The test that runs this file puts ``options`` into its globals.
"""

import os
from typing import Any

from torch import nn

from killed import kill_this_process_after
from sag_vicreg.training import run

options: dict[str, Any]
options = globals()["options"]


def hold_batch_norm(recipe: Any, **options: Any) -> nn.Module:
    """Build the method with BatchNorm in evaluation mode: a CPU cannot synchronise it.

    Images are so alike to an untrained network that rounding in single precision decides which
    neighbours are nearest, and batches of other sizes round otherwise: in double it does not.
    """
    from sag_vicreg.methods import make_method

    method = make_method(recipe, **options).double()
    method.backbone.register_forward_pre_hook(lambda _, views: (views[0].double(),))
    for layer in method.modules():
        if isinstance(layer, nn.modules.batchnorm._BatchNorm):
            layer.eval()
    return method


os.environ.update(
    RANK=str(options["rank"]),
    LOCAL_RANK=str(options["rank"]),
    WORLD_SIZE=str(options["world_size"]),
    LOCAL_WORLD_SIZE=str(options["world_size"]),
    GROUP_RANK="0",
    MASTER_ADDR="127.0.0.1",
    MASTER_PORT=str(options["port"]),
    TORCHELASTIC_RUN_ID="test",
)
if options["hold_batch_norm"]:
    run.make_method = hold_batch_norm  # type: ignore[assignment]
if options["kill_after"] is not None:
    kill_this_process_after(options["kill_after"])
run.train(
    options["recipe"],
    options["folder"],
    resume=options["resume"],
    devices=options["world_size"],
    accelerator="cpu",
    strategy="ddp",
)
