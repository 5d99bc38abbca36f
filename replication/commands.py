"""``python -m replication stages``, ``study`` and ``ceiling``."""

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from replication.ceiling import ROWS
from replication.contenders import SCREENED, SEEDS, TRAINABLE
from replication.page import read_page
from replication.places import RESULTS, Places
from replication.replicate import replicate, stage_target
from replication.stages import STAGES, STEPS
from replication.study import Study
from replication.study_page import BEGIN
from sag_vicreg.errors import InputError, check_name
from sag_vicreg.reproduce import SUFFIXES, Campaign, Store, WorkerPool, parse_options


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what the command line asks for; a user's mistake is one line and exit code 2."""
    given = _parser().parse_args(arguments)
    try:
        done = given.command(given)
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    raise SystemExit(0 if done else 1)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m replication",
        description="Replicate the paper on CIFAR-100 at the CPU scale, and study the walk. What "
        "is finished is not done again: repeat a command to go on.",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_stages(commands.add_parser("stages", help="tables, trend and ablation, stage by stage"))
    _add_study(commands.add_parser("study", help="readings of the walk against VICReg"))
    _add_ceiling(
        commands.add_parser(
            "ceiling",
            help="partners that the labels choose",
            description="Train VICReg on partners that the labels choose. What is measured goes to "
            "the published reference points as it comes; --publish rewrites the study's page.",
        )
    )
    return parser


def _add_places(parser: argparse.ArgumentParser, *, out: str) -> None:
    parser.add_argument(
        "--out", type=Path, default=Path(out), help="folder of models and results; reused"
    )
    parser.add_argument(
        "--published",
        type=Path,
        default=RESULTS,
        help=f"folder of published results, which count as done (default: {RESULTS})",
    )
    parser.add_argument(
        "--publish", action="store_true", help="copy results and embeddings, rewrite the page"
    )


def _add_common(parser: argparse.ArgumentParser, *, out: str) -> None:
    _add_places(parser, out=out)
    parser.add_argument("--jobs", type=_count, default=1, help="tasks at once")
    parser.add_argument("--no-run", action="store_true", help="train nothing, print what there is")


def _count(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text} is not a whole number of at least 1")
    return int(text)


def _add_stages(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("stages", nargs="*", help=f"of {', '.join(STAGES)}; all by default")
    _add_common(parser, out="reproduction")
    parser.add_argument("--cluster", help="send tasks out through submitit: slurm or local")
    parser.add_argument(
        "--cluster-option",
        action="append",
        default=[],
        help="option for submitit, as slurm_partition=gpu; repeat",
    )
    parser.add_argument("--format", choices=SUFFIXES, default="markdown", help="of printed tables")
    parser.add_argument(
        "--dry-run", action="store_true", help="print runs, sizes and a measured estimate of time"
    )
    parser.set_defaults(command=_stages)


def _add_study(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "contenders",
        nargs="*",
        help=f"of {', '.join(TRAINABLE)}; all that are screened by default",
    )
    _add_common(parser, out="study")
    _add_length(parser)
    parser.add_argument("--test", action="store_true", help="score test images too")
    parser.add_argument(
        "--references", action="store_true", help="measure the points that need no training"
    )
    parser.set_defaults(command=_study)


def _add_ceiling(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("rows", nargs="*", help=f"of {', '.join(ROWS)}; all by default")
    _add_places(parser, out="study")
    _add_length(parser)
    parser.set_defaults(command=_ceiling)


def _add_length(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seeds", type=int, nargs="+", default=SEEDS)
    parser.add_argument("--steps", type=int, default=STEPS)


def _campaign(given: argparse.Namespace, workers: WorkerPool, style: str = "markdown") -> Campaign:
    return Campaign(
        Store(given.out, (given.published,)), workers, partial(print, flush=True), style
    )


def _stages(given: argparse.Namespace) -> bool:
    names = given.stages or list(STAGES)
    for name in names:
        check_name("stage", name, STAGES)
    workers = WorkerPool(given.jobs, given.cluster, parse_options(given.cluster_option))
    campaign = _campaign(given, workers, given.format)
    if given.dry_run:
        results = campaign.store.results()
        campaign.estimate([stage_target(name, results) for name in names])
        return True
    places, run = Places(given.published), not given.no_run
    return replicate(names, campaign, places, run=run, publish=given.publish) or not run


def _study(given: argparse.Namespace) -> bool:
    names = given.contenders or [name for name in SCREENED if name in TRAINABLE]
    for name in names:
        check_name("contender", name, TRAINABLE)
    study = _open_study(given, WorkerPool(given.jobs))
    if given.no_run:
        study.complete()
    else:
        study.run(
            names, seeds=given.seeds, steps=given.steps, test=given.test, publish=given.publish
        )
    if given.references:
        study.measure_references()
    if given.publish:
        study.publish()
    print(study.tabulate())
    return True


def _ceiling(given: argparse.Namespace) -> bool:
    names = given.rows or list(ROWS)
    for name in names:
        check_name("row", name, ROWS)
    study = _open_study(given, WorkerPool())
    study.train_on_classes(names, seeds=given.seeds, steps=given.steps)
    if given.publish:
        study.publish()
    print("\n\n".join(study.ceiling()))
    return True


def _open_study(given: argparse.Namespace, workers: WorkerPool) -> Study:
    study = Study(_campaign(given, workers), Places(given.published))
    if given.publish:
        read_page(study.places.page("study"), BEGIN)
    return study
