from collections.abc import Callable, Iterator
from multiprocessing.context import ForkServerContext, ForkServerProcess
from pathlib import Path
from typing import Any

import pytest
import torch

from sag_vicreg import torchvision_ops as torchvision_ops  # before Lightning is imported
from sag_vicreg.artifacts import Run
from sag_vicreg.recipes import Recipe, load_recipe


def tiny(method: str = "sag-vicreg", *overrides: str) -> Recipe:
    """A run of a second or two: ten steps, a checkpoint every third, a measurement every fifth."""
    settings = [
        "schedule.steps=10",
        "batch_size=24",
        "dataset.max_images=96",
        "monitor.checkpoint_every=3",
        "monitor.measure_every=5",
        "monitor.log_every=1",
        "monitor.probe_images=60",
    ]
    return load_recipe(f"shapes/{method}", scale="smoke", overrides=[*settings, *overrides])


@pytest.fixture(scope="package", autouse=True)
def one_thread() -> Iterator[None]:
    """Networks this small gain nothing from a second thread, and lose much on a busy machine."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMP_NUM_THREADS", "1")  # Lightning's own setting would win otherwise
        yield
    torch.set_num_threads(before)


@pytest.fixture(scope="package")
def tiny_recipe() -> Callable[..., Recipe]:
    return tiny


@pytest.fixture(scope="package")
def finished(one_thread: None, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A finished tiny SAG-VICReg run; tests read it and leave it alone."""
    from sag_vicreg.training import train

    return train(tiny(), tmp_path_factory.mktemp("runs") / "finished")


@pytest.fixture
def start_training(processes: ForkServerContext) -> Callable[..., ForkServerProcess]:
    def start(recipe: Recipe, folder: Path, **options: Any) -> ForkServerProcess:
        from sag_vicreg.training import train

        process = processes.Process(target=train, args=(recipe, folder), kwargs=options)
        process.start()
        return process

    return start
