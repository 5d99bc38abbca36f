"""What happens between two steps: measure, log, checkpoint, show."""

import sys
import time
from contextlib import suppress
from typing import Any

import lightning.pytorch as pl
from rich.progress import TextColumn
from rich.table import Column

from sag_vicreg.artifacts import Run
from sag_vicreg.errors import InputError, NotFiniteError, TrainingStopped
from sag_vicreg.methods import TwoViewMethod
from sag_vicreg.progress import make_bar
from sag_vicreg.training.measures import COLLAPSED, MEASURES, ImageMonitor
from sag_vicreg.training.metrics import MetricsLog
from sag_vicreg.training.module import TrainingModule
from sag_vicreg.training.pairs import PairMonitor

# Columns of the log that are not terms of the loss.
_NO_TERMS = ("lr", "images_per_second", *MEASURES)
# Lines of a run that nobody watches on a terminal.
_LINES = 100


class Watch(pl.Callback):
    """Belongs to the first process; the others wait for it at their next collective."""

    def __init__(self, run: Run, images: ImageMonitor) -> None:
        self.run = run
        self.images = images
        self._seconds = 0.0  # spent training since the last row
        self._images = 0

    def on_train_start(self, trainer: pl.Trainer, module: TrainingModule) -> None:  # type: ignore[override]
        """Open the log where the checkpoint ended."""
        self.images.previous = module.monitor_state
        self.pairs = _pair_monitor(module)
        self.no_terms = _NO_TERMS + (self.pairs.columns if self.pairs else ())
        self.metrics = MetricsLog(self.run, module.start, self.no_terms)
        for logger in trainer.loggers:
            logger.log_hyperparams(module.plan.recipe.model_dump(mode="json"))
        self.bar = _Bar(module.start, module.plan.total_steps)
        self._clock = time.perf_counter()

    def on_train_batch_end(  # type: ignore[override]
        self, trainer: pl.Trainer, module: TrainingModule, *_: Any
    ) -> None:
        """Do what is due after this step."""
        plan, monitor = module.plan, module.plan.recipe.monitor
        if module.moment.part < plan.recipe.accumulate - 1:
            return
        self._seconds += time.perf_counter() - self._clock
        self._images += plan.images_per_step
        done = module.moment.step + 1
        self.bar.move(done)

        def due(every: int | None) -> bool:
            return done == plan.total_steps or done % (every or plan.steps_per_epoch) == 0

        measuring = due(monitor.measure_every)
        measured = self._measure(done, module) if measuring else {}
        if measuring or due(monitor.log_every):
            self._log(trainer, module, done, measured)
        if due(monitor.checkpoint_every) or (monitor.keep_every and due(monitor.keep_every)):
            # A good checkpoint is not replaced by one whose next loss would be NaN.
            if not all(bool(p.isfinite().all()) for p in module.method.parameters()):
                raise module.diverged(f"after step {done}", "weights are no longer finite")
            module.checkpoints.save(done, module.state() | {"probe": self.images.previous})
        self._clock = time.perf_counter()

    def _measure(self, done: int, module: TrainingModule) -> dict[str, float]:
        try:
            measured = self.images.measure(module.method.encoder)
        except NotFiniteError as error:
            raise module.diverged(f"after step {done}", "the embedding is not finite") from error
        evenness = measured.get("embedding_std")
        if evenness is not None and evenness < COLLAPSED:
            raise TrainingStopped(
                f"the embedding has collapsed at step {done}: all measured images point the same "
                f"way (evenness {evenness:.1e} of 1); lower optimizer.base_lr or raise batch_size; "
                f"{module.checkpoints.kept()}"
            )
        return measured

    def _log(
        self, trainer: pl.Trainer, module: TrainingModule, done: int, measured: dict[str, float]
    ) -> None:
        walked = module.terms.walked
        values = {
            "loss": float(module.terms.total.detach()),
            **{name: float(part.detach()) for name, part in module.terms.parts.items()},
            "lr": module.rate,
            "images_per_second": self._images / self._seconds,
            **measured,
            **(self.pairs.measure(walked, module.moment) if self.pairs and walked else {}),
        }
        self.metrics.write(done, module.moment.epoch, values)
        for logger in trainer.loggers:
            logger.log_metrics(values, step=done)
        module.log_dict(values, logger=False, rank_zero_only=True)  # for callbacks
        self.bar.show(done, values, {k: v for k, v in values.items() if k not in self.no_terms})
        self._seconds, self._images = 0.0, 0

    def on_train_end(self, trainer: pl.Trainer, module: pl.LightningModule) -> None:
        """Close the log, if it was opened."""
        if hasattr(self, "bar"):
            self.bar.close()
            self.metrics.close()

    def on_exception(
        self, trainer: pl.Trainer, module: pl.LightningModule, exception: BaseException
    ) -> None:
        """Close the log, whatever happened; what happened matters more than a full disk."""
        with suppress(InputError):
            self.on_train_end(trainer, module)


def _pair_monitor(module: TrainingModule) -> PairMonitor | None:
    """Return what watches the walk, where there is one."""
    method = module.method
    if not isinstance(method, TwoViewMethod) or method.loss.pairing is None:
        return None
    return PairMonitor(module.plan, module.inputs.dataset, k=method.loss.pairing.k)


class _Bar:
    """Steps, time gone and left, loss terms, images per second, k-NN.

    Off a terminal, where a bar would be noise, a line for every hundredth of the run.
    """

    def __init__(self, start: int, total: int) -> None:
        rest = Column(ratio=1, no_wrap=True, overflow="ellipsis")  # what is left of the line
        note = TextColumn("{task.fields[note]}", table_column=rest)
        self._progress = make_bar(note, bar_width=16, expand=True)
        self._task = self._progress.add_task("training", total=total, completed=start, note="")
        self._knn = ""
        self._total = total
        self._said = start * _LINES // total
        self._progress.start()

    def move(self, done: int) -> None:
        """Move the bar to ``done``."""
        self._progress.update(self._task, completed=done)

    def show(self, done: int, values: dict[str, float], terms: dict[str, float]) -> None:
        """Say how it goes."""
        if "knn" in values:
            self._knn = f" knn {values['knn']:.1%}"
        shown = " ".join(f"{name} {value:.3g}" for name, value in terms.items())
        note = f"{values['images_per_second']:,.0f} images/s{self._knn} {shown}"
        self._progress.update(self._task, note=note)
        part = done * _LINES // self._total
        if self._progress.disable and part > self._said:
            self._said = part
            print(f"step {done} of {self._total}: {note}", file=sys.stderr)

    def close(self) -> None:
        """Take the bar away."""
        self._progress.stop()
