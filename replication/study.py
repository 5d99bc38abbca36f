"""The study of the walk: run it, or a part of it, tabulate it and publish what is finished.

Whatever is published counts as done: on another machine the same command goes on from there.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress

from replication import stages
from replication.ceiling import class_pair_points, class_pair_tables
from replication.contenders import SCREENED, SEEDS, TRAINABLE, plan, trials
from replication.measured import is_rejected
from replication.places import Places
from replication.publishing import publish_embeddings, publish_results
from replication.references import complete_points, costless_points, read_points
from replication.study_page import generated_part, update_study_page
from sag_vicreg.artifacts import Result, read_results
from sag_vicreg.errors import InputError
from sag_vicreg.reproduce import Campaign, complete_forests, evaluation_of


class Study:
    """The study, over one campaign's store and the places where it is published."""

    def __init__(self, campaign: Campaign, places: Places) -> None:
        self.campaign = campaign
        self.store = campaign.store
        self.places = places

    def run(
        self,
        names: Sequence[str],
        *,
        seeds: Sequence[int],
        steps: int,
        test: bool,
        publish: bool,
    ) -> None:
        """Search, train and measure, seed by seed; what is done is left alone."""
        for seed in seeds:
            for name in names:
                self.campaign.echo(f"{name}, seed {seed}")
                self.campaign.work(trials(name))
                planned = plan(name, seed, self.store.results(), steps=steps)
                self.campaign.work(planned.evaluations(test=test))
                if publish:
                    self.publish()

    def complete(self) -> None:
        """Add forests to results that were made without, wherever embeddings are at hand."""
        mine = read_results([self.store.results_folder]).values()
        evaluations = [evaluation_of(result) for result in mine if not is_rejected(result)]
        complete_forests(evaluations, self.store, self.campaign.echo)

    def measure_references(self) -> None:
        """Measure the points of the picture that cost no training."""
        wanted = costless_points(self.store, self.store.results())
        complete_points(self.places.points, wanted, self.campaign.echo)

    def train_on_classes(self, names: Sequence[str], *, seeds: Sequence[int], steps: int) -> None:
        """Train and measure what pairs by label, seed by seed."""
        wanted = class_pair_points(
            names, self.store, self.store.results(), seeds=seeds, steps=steps
        )
        complete_points(self.places.points, wanted, self.campaign.echo)

    def tabulate(self) -> str:
        """Write what is finished, as Markdown."""
        return generated_part(self.store.results(), read_points(self.places.points))

    def ceiling(self) -> list[str]:
        """Write what is finished of the pairs by label, as Markdown, a table per length."""
        return class_pair_tables(read_points(self.places.points), self.store.results())

    def publish(self) -> None:
        """Copy what the study's folder holds to where it is published, and rewrite the page."""
        results = self.store.results()
        mine = [results[key] for key in read_results([self.store.results_folder])]
        publish_results(mine, self.places.results)
        publish_embeddings(
            embedded(results), self.store, self.places.embeddings, note=self.campaign.echo
        )
        update_study_page(self.places.page("study"), results, read_points(self.places.points))


def embedded(results: Mapping[str, Result]) -> list[Result]:
    """Choose the results whose models' embeddings are published, so that all of them stay small.

    Of the rows that are screened, the training images that selection looks at; of confirmed models
    the test images, of as many seeds as tables 1 and 2 have; of points of VICReg's curve none.
    """
    screened = []
    for name in (name for name in SCREENED if name in TRAINABLE):
        with suppress(InputError):  # its search is unfinished, so it has no results either
            screened += [plan(name, seed, results).structure.key for seed in SEEDS]
    found = [results[key] for key in screened if key in results]
    found += [
        result
        for result in results.values()
        if result.images["split"] == "test" and result.seed in stages.SEEDS
    ]
    kept = [result for result in found if not is_rejected(result)]
    return [r for r in kept if r.kind == "structure" and r.failure is None]
