"""Run the replication stage by stage, tabulate it and publish what is finished."""

from collections.abc import Mapping, Sequence

from replication.findings import stage_tables
from replication.page import read_page, update_page
from replication.places import Places
from replication.publishing import publish_embeddings, publish_results
from replication.stages import DATASET, EMBEDDED, METHODS, STAGES
from sag_vicreg.artifacts import Result, check_writable
from sag_vicreg.errors import InputError
from sag_vicreg.reproduce import Campaign, Target, chosen_rate, tuned_by

SEARCH = "lr-search"


def stage_target(name: str, results: Mapping[str, Result]) -> Target:
    """Plan a stage, given what is known by now: the search decides what follows it."""
    return Target(
        name,
        STAGES[name].evaluations(tuned_by(results)),
        lambda known: stage_tables(name, known),
    )


def replicate(
    names: Sequence[str], campaign: Campaign, places: Places, *, run: bool, publish: bool
) -> bool:
    """Do what is missing of these stages, in this order; say whether all are complete."""
    if publish:
        read_page(places.page("replication-tables"))
    check_writable(campaign.store.root / "workers.log")
    complete = True
    for name in names:
        results = campaign.store.results()
        if run and name != SEARCH:
            _require_search(results)
        complete &= campaign.finish(stage_target(name, results), run=run)
        if publish:
            _publish(campaign, places)
    return complete


def _require_search(results: Mapping[str, Result]) -> None:
    """Refuse what hangs on the search before it has chosen a rate for every method."""
    missing = [m for m in METHODS if chosen_rate(DATASET, m, results) is None]
    if missing:
        raise InputError(
            f"the learning-rate search of {', '.join(missing)} on {DATASET} is unfinished: "
            f"`python -m replication stages {SEARCH}` first"
        )


def _publish(campaign: Campaign, places: Places) -> None:
    """Copy finished results and embeddings to where they are published, and rewrite the page."""
    store, results = campaign.store, campaign.store.results()
    tuned = tuned_by(results)
    done = {
        name: [results[e.key] for e in stage.evaluations(tuned) if e.key in results]
        for name, stage in STAGES.items()
    }
    publish_results((result for stage in done.values() for result in stage), places.results)
    kept = [result for name in EMBEDDED for result in done[name]]
    publish_embeddings(kept, store, places.embeddings, note=campaign.echo)
    update_page(places.page("replication-tables"), results)
    campaign.echo(f"published to {places.results}")
