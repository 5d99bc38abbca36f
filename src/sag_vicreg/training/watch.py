"""What happens between two steps: measure, log, checkpoint, show."""

import time
from typing import Any

import lightning.pytorch as pl
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Column

from sag_vicreg.artifacts import Run
from sag_vicreg.errors import TrainingStopped
from sag_vicreg.training.measures import COLLAPSED, MEASURES, Probe
from sag_vicreg.training.metrics import MetricsLog
from sag_vicreg.training.module import TrainingModule

# Columns of the log that are no terms of the loss.
_NO_TERMS = ("lr", "images_per_second", *MEASURES)


class Watch(pl.Callback):
    """Belongs to the first process; the others wait for it at their next collective."""

    def __init__(self, run: Run, probe: Probe) -> None:
        self.run = run
        self.probe = probe
        self._seconds = 0.0  # spent training since the last row
        self._images = 0

    def on_train_start(self, trainer: pl.Trainer, module: TrainingModule) -> None:  # type: ignore[override]
        """Open the log where the checkpoint ended."""
        if module.restored is not None:
            self.probe.restore(module.restored["probe"])
        monitor = module.plan.recipe.monitor
        per_epoch = module.plan.steps_per_epoch
        self.log_every = monitor.log_every
        self.measure_every = monitor.measure_every or per_epoch
        self.checkpoint_every = monitor.checkpoint_every or per_epoch
        self.metrics = MetricsLog(self.run, module.start, _NO_TERMS)
        self.bar = _Bar(module.start, module.plan.total_steps)
        self._clock = time.perf_counter()

    def on_train_batch_end(  # type: ignore[override]
        self, trainer: pl.Trainer, module: TrainingModule, *_: Any
    ) -> None:
        """Do what is due after this step."""
        moment = module.moment
        if moment.part < module.plan.recipe.accumulate - 1:
            return
        self._seconds += time.perf_counter() - self._clock
        self._images += module.plan.images_per_step
        done = moment.step + 1
        last = done == moment.total_steps
        self.bar.move(done)
        measuring = last or done % self.measure_every == 0
        measured = self._measure(done, module) if measuring else {}
        if measuring or done % self.log_every == 0:
            self._log(module, done, measured)
        if last or done % self.checkpoint_every == 0:
            self._refuse_broken_weights(done, module)
            module.checkpoints.save(done, module.state() | {"probe": self.probe.state()})
        self._clock = time.perf_counter()

    def _measure(self, done: int, module: TrainingModule) -> dict[str, float]:
        try:
            measured = self.probe.measure(module.method.encoder)
        except FloatingPointError as error:
            raise module.diverged(f"after step {done}", str(error)) from error
        spread = measured.get("embedding_std")
        if spread is not None and spread < COLLAPSED:
            raise TrainingStopped(
                f"the embedding has collapsed at step {done}: all probe images point the same way "
                f"(spread {spread:.1e} of 1); lower optimizer.base_lr or raise batch_size; "
                f"{module.checkpoints.kept()}"
            )
        return measured

    def _refuse_broken_weights(self, done: int, module: TrainingModule) -> None:
        """Keep a good checkpoint from being replaced by one whose next loss would be NaN."""
        if not all(bool(p.isfinite().all()) for p in module.method.parameters()):
            raise module.diverged(f"after step {done}", "weights are no longer finite")

    def _log(self, module: TrainingModule, done: int, measured: dict[str, float]) -> None:
        speed = self._images / self._seconds
        values = {
            "loss": float(module.terms.total.detach()),
            **{name: float(part.detach()) for name, part in module.terms.parts.items()},
            "lr": module.rate,
            "images_per_second": speed,
            **measured,
        }
        self.metrics.write(done, module.moment.epoch, values)
        self.bar.show(values)
        self._seconds, self._images = 0.0, 0

    def on_train_end(self, trainer: pl.Trainer, module: pl.LightningModule) -> None:
        """Close the log."""
        self._close()

    def on_exception(
        self, trainer: pl.Trainer, module: pl.LightningModule, exception: BaseException
    ) -> None:
        """Close the log, whatever happened."""
        self._close()

    def _close(self) -> None:
        if hasattr(self, "bar"):
            self.metrics.close()
            self.bar.close()


class _Bar:
    """Steps, time gone and left, loss terms, images per second, k-NN; silent off a terminal."""

    def __init__(self, start: int, total: int) -> None:
        console = Console(stderr=True)
        rest = Column(ratio=1, no_wrap=True, overflow="ellipsis")  # what is left of the line
        self._progress = Progress(
            TextColumn("training"),
            BarColumn(bar_width=16),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[note]}", table_column=rest),
            console=console,
            transient=True,
            expand=True,
            disable=not console.is_terminal,
        )
        self._task = self._progress.add_task("training", total=total, completed=start, note="")
        self._knn = ""
        self._progress.start()

    def move(self, done: int) -> None:
        """Move the bar to ``done``."""
        self._progress.update(self._task, completed=done)

    def show(self, values: dict[str, float]) -> None:
        """Say how it goes."""
        if "knn" in values:
            self._knn = f" knn {values['knn']:.1%}"
        speed = f"{values['images_per_second']:,.0f} images/s"
        terms = [f"{name} {value:.3g}" for name, value in values.items() if name not in _NO_TERMS]
        self._progress.update(self._task, note=f"{speed}{self._knn} {' '.join(terms)}")

    def close(self) -> None:
        """Take the bar away."""
        self._progress.stop()
