"""Several processes: the same run as one, checkpointed and resumed like one."""

import runpy
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from multiprocessing.context import ForkServerContext, ForkServerProcess
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from sag_vicreg.artifacts import Run
from sag_vicreg.recipes import Recipe
from sag_vicreg.training.checkpoint import CheckpointStore
from sag_vicreg.training.inputs import load_images
from sag_vicreg.training.run import make_module

MakeRecipe = Callable[..., Recipe]
WORKER = Path(__file__).with_name("one_of_many.py")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Group:
    """Processes that train together."""

    def __init__(
        self,
        context: ForkServerContext,
        recipe: Recipe,
        folder: Path,
        *,
        world_size: int,
        hold_batch_norm: bool = False,
        resume: bool = False,
        kill_after: int | None = None,
    ) -> None:
        shared = {
            "recipe": recipe,
            "folder": folder,
            "world_size": world_size,
            "hold_batch_norm": hold_batch_norm,
            "resume": resume,
            "kill_after": kill_after,
            "port": free_port(),
        }
        self.run = Run(folder)
        self.members: list[ForkServerProcess] = []
        for rank in range(world_size):
            options = {"options": shared | {"rank": rank}}
            member = context.Process(target=runpy.run_path, args=(str(WORKER), options))
            member.start()
            self.members.append(member)

    def finish(self) -> Run:
        for member in self.members:
            member.join()
            assert member.exitcode == 0
        return self.run

    def be_killed(self) -> None:
        """Wait for the first process, which writes the checkpoints, to die; end the others too."""
        first, *others = self.members
        first.join()
        assert first.exitcode == -signal.SIGKILL
        for member in others:
            member.kill()
            member.join()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "walk"),
    [
        ("sag-vicreg", "{}"),
        ("sag-vicreg", "{around: view, scale_over: batch}"),
        ("simclr", "{pairing: random_walk}"),
    ],
)
def test_two_processes_agree_with_one_on_the_global_batch(
    method: str, walk: str, processes: ForkServerContext, tiny_recipe: MakeRecipe, tmp_path: Path
) -> None:
    # An odd batch: the ranks hold 12 and 13 rows.
    recipe = tiny_recipe(method, "batch_size=25", f"method={walk}")
    one, two = (
        Group(processes, recipe, tmp_path / str(n), world_size=n, hold_batch_norm=True)
        for n in (1, 2)
    )
    weights, expected = load_file(two.finish().backbone), load_file(one.finish().backbone)
    for name, tensor in expected.items():
        torch.testing.assert_close(weights[name], tensor, rtol=1e-9, atol=1e-10)
    rows = losses(one.run)
    assert losses(two.run) == [pytest.approx(row, rel=1e-5, abs=1e-9) for row in rows]
    assert len({row[0] for row in rows}) == 10  # it did train
    assert rows[-1][-1] > 0  # and walk


def losses(run: Run) -> list[list[float]]:
    """The loss and its parts, row by row; the share of non-trivial pairs is last."""
    header, *lines = [line.split(",") for line in run.metrics.read_text().splitlines()]
    last = header.index("nontrivial") + 1
    return [[float(cell) for cell in line[2:last]] for line in lines]


@pytest.mark.slow
def test_two_killed_processes_resume_to_the_same_weights(
    processes: ForkServerContext, tiny_recipe: MakeRecipe, tmp_path: Path
) -> None:
    recipe = tiny_recipe()
    whole = Group(processes, recipe, tmp_path / "whole", world_size=2).finish()
    Group(processes, recipe, tmp_path / "killed", world_size=2, kill_after=6).be_killed()
    resumed = Group(processes, recipe, tmp_path / "killed", world_size=2, resume=True).finish()
    weights, expected = load_file(resumed.backbone), load_file(whole.backbone)
    assert all(torch.equal(weights[name], expected[name]) for name in expected)


@pytest.mark.slow
def test_the_command_starts_its_own_processes_which_say_everything_once(tmp_path: Path) -> None:
    command = (
        f"-m sag_vicreg train --recipe shapes/sag-vicreg --scale smoke --out {tmp_path}/run "
        "--devices 2 --accelerator cpu --strategy ddp --set schedule.steps=4 --logger csv "
        "--set monitor.log_every=2 --set dataset.max_images=200 --set monitor.probe_images=60"
    )
    done = subprocess.run([sys.executable, *command.split()], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert Run(tmp_path / "run").backbone.exists()
    assert Run(tmp_path / "run").metrics.read_text().splitlines()[-1].startswith("4,0,")
    # Off a terminal there are lines instead of a bar.
    assert done.stdout.count("trained shapes/sag-vicreg") == 1
    lines = [line for line in done.stderr.splitlines() if line.startswith("step ")]
    assert [line.split(":")[0] for line in lines] == ["step 2 of 4", "step 4 of 4"]
    assert (tmp_path / "run" / "csv" / "metrics.csv").exists()


# Lightning starts this file anew for every process, so it has to be one.
COLLAPSE = """
import sys
from sag_vicreg.training.encoder import Encoder

embed = Encoder.embed
Encoder.embed = lambda *arguments, **options: embed(*arguments, **options) * 0
from sag_vicreg.cli import main

main()
"""


@pytest.mark.slow
def test_when_the_first_process_stops_the_others_do_not_bury_its_line(tmp_path: Path) -> None:
    (tmp_path / "collapse.py").write_text(COLLAPSE)
    command = (
        f"{tmp_path}/collapse.py train --recipe shapes/vicreg --scale smoke --out {tmp_path}/run "
        "--devices 2 --accelerator cpu --strategy ddp --set monitor.measure_every=2 "
        "--set dataset.max_images=200 --set monitor.probe_images=60"
    )
    done = subprocess.run([sys.executable, *command.split()], capture_output=True, text=True)
    assert done.returncode == 2
    (said,) = [line for line in done.stderr.splitlines() if not line.startswith("step ")]
    assert said.startswith("error: the embedding has collapsed at step 2")


def test_synchronised_norms_keep_the_activations_of_the_backbone(
    tiny_recipe: Callable[..., Recipe], tmp_path: Path
) -> None:
    recipe = tiny_recipe("vicreg", "backbone.name=regnetx_002")
    images = load_images(recipe, "train", root=None)
    alone, together = (
        make_module(
            recipe, images, CheckpointStore(Run(tmp_path), "x"), synchronize=synchronize
        ).method.backbone.eval()
        for synchronize in (False, True)
    )
    assert any(isinstance(layer, torch.nn.SyncBatchNorm) for layer in together.modules())
    pixels = torch.randn(2, 3, 32, 32)
    with torch.no_grad():
        torch.testing.assert_close(together(pixels), alone(pixels))
