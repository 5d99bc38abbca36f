"""What a worker does when training stops itself, and when it is stopped by something else."""

from pathlib import Path

import numpy as np
import pytest

from sag_vicreg.artifacts import Embeddings, Run, write_text
from sag_vicreg.errors import InputError, TrainingStopped
from sag_vicreg.recipes import load_recipe
from sag_vicreg.reproduce import Choices, Store, outline, request_table
from sag_vicreg.reproduce.declarations import ImageSet
from sag_vicreg.reproduce.embedding import embed_once
from sag_vicreg.reproduce.estimate import rehearsal, step_shape, steps_of
from sag_vicreg.reproduce.scheduler import BUSY, DONE
from sag_vicreg.reproduce.work import evaluate_models, train_model

REQUEST = request_table(
    "table1", Choices(scale="smoke", datasets=["shapes"], methods=["sag-vicreg"])
)
(EVALUATION,) = REQUEST.evaluations
RECIPE = EVALUATION.recipes[0]


def stop_with(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    import sag_vicreg.training

    def train(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(sag_vicreg.training, "train", train)


def test_a_training_that_stops_itself_is_a_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(tmp_path)
    stop_with(TrainingStopped("the loss is nan at step 9"), monkeypatch)
    assert train_model(RECIPE, store, None) == DONE
    # It would stop again, so it is not tried again.
    assert RECIPE.digest() not in {r.digest() for r in outline([EVALUATION], store).to_train}
    assert evaluate_models(EVALUATION, store, None) == DONE
    result = store.results()[EVALUATION.key]
    assert result.failure == "the loss is nan at step 9"
    (table,) = REQUEST.tables(store.results())
    assert table.rows[0].scores == (None,) * 5
    assert "sag-vicreg seed 0 stopped itself: the loss is nan at step 9." in table.notes


def test_a_full_disk_is_no_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(tmp_path)
    stop_with(InputError("cannot write checkpoint: no space left on device"), monkeypatch)
    with pytest.raises(InputError, match="no space left"):
        train_model(RECIPE, store, None)
    assert RECIPE.digest() in {r.digest() for r in outline([EVALUATION], store).to_train}
    assert store.results() == {}
    # Nothing lies in the way of the next try.
    assert not store.run(RECIPE).folder.exists()


def test_a_write_in_progress_is_no_result(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.results_folder.mkdir()
    (store.results_folder / ".structure-vicreg-seed0-abc123.json").touch()
    assert store.results() == {}


def test_a_model_somebody_else_is_at_is_left_to_them(tmp_path: Path) -> None:
    store = Store(tmp_path)
    with store.hold(RECIPE.digest()) as mine:
        assert mine
        assert train_model(RECIPE, Store(tmp_path), None) == BUSY


def test_progress_is_read_from_the_last_whole_line(tmp_path: Path) -> None:
    store = Store(tmp_path)
    assert store.share_done(RECIPE, 80) == 0
    path = store.run(RECIPE).metrics
    path.parent.mkdir(parents=True)
    path.write_text("step,epoch,loss\n20,0,1.5\n40,0,1.4\n60,0,1.")
    assert store.share_done(RECIPE, 80) == 0.5
    # A recipe whose number of steps is estimated may have made more.
    assert store.share_done(RECIPE, 20) == 1


def test_measures_are_those_of_the_last_whole_line(tmp_path: Path) -> None:
    store = Store(tmp_path)
    assert store.last_measures(RECIPE) == {}
    path = store.run(RECIPE).metrics
    path.parent.mkdir(parents=True)
    # What was not measured at that step is left out, not read as 0.
    path.write_text("step,loss,nontrivial,knn,rankme\n20,1.5,0,0.1,9\n40,1.4,0.98,,12.5\n60,1.3,0.")
    assert store.last_measures(RECIPE) == {"rankme": 12.5, "nontrivial": 0.98}
    path.write_text("step,loss,nontrivial,knn,rankme\n20,nan,0.5,nan,inf\n")
    assert store.last_measures(RECIPE) == {"nontrivial": 0.5}


def test_seconds_of_every_part_add_up(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.add_train_seconds(RECIPE, 10.0)
    store.add_train_seconds(RECIPE, 2.5)
    assert store.train_seconds(RECIPE) == 12.5


def test_steps_follow_epochs_halves_and_limits() -> None:
    paper = load_recipe("cifar100/vicreg")
    assert steps_of(paper) == 500 * 250
    half = load_recipe("cifar100/vicreg", overrides=["dataset.classes=first"])
    # The paper's CIFAR-100 models: about sixty thousand steps.
    assert steps_of(half) == 500 * 125
    assert steps_of(load_recipe("cifar100/vicreg", scale="cpu")) == 1000


def test_a_step_is_measured_on_drawn_images_and_remembered_by_what_decides_its_time() -> None:
    paper = load_recipe("imagenet100/sag-vicreg")
    short = rehearsal(paper, 12)
    assert (short.dataset.name, short.dataset.image_size) == ("shapes", 224)
    assert (short.schedule.steps, short.batch_size) == (12, 256)
    assert step_shape(short, 2) == step_shape(paper, 2)
    assert step_shape(paper, 1) != step_shape(paper, 2)
    other = load_recipe("imagenet100/sag-vicreg", overrides=["seed=1", "optimizer.base_lr=9"])
    assert step_shape(other, 2) == step_shape(paper, 2)
    larger = load_recipe("imagenet100/sag-vicreg", overrides=["batch_size=512"])
    assert step_shape(larger, 2) != step_shape(paper, 2)


def test_a_recipe_of_less_than_a_batch_is_left_to_the_training_to_refuse() -> None:
    assert steps_of(load_recipe("cifar100/vicreg", overrides=["dataset.max_images=10"])) == 1


def test_embeddings_are_of_the_split_the_model_was_trained_by(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sag_vicreg.training

    asked = []

    def embed(*_: object, seed: int, **__: object) -> Embeddings:
        asked.append(seed)
        return Embeddings(np.eye(3, dtype=np.float32))

    monkeypatch.setattr(sag_vicreg.training, "embed", embed)
    for seed in (0, 3):
        run = Run(tmp_path / str(seed))
        recipe = load_recipe("shapes/vicreg", overrides=[f"dataset.seed={seed}"])
        write_text(run.recipe, recipe.to_yaml())
        embed_once(run, ImageSet("shapes"))
    assert asked == [0, 3]
    assert (tmp_path / "3/embeddings/shapes-test-all-seed3.parquet").is_file()
