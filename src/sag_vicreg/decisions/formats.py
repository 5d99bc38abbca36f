"""A decision for other readers: pull requests, test reports, notebooks."""

import re
from collections.abc import Sequence
from html import escape
from xml.etree import ElementTree

from sag_vicreg.decisions.gate import Decision
from sag_vicreg.decisions.sweep import Sweep

_COLOURS = {"pass": "#1a7f37", "fail": "#cf222e", "undecided": "#9a6700"}


def decision_markdown(decision: Decision, moved: Sequence[str] = ()) -> str:
    """Write a decision for a pull request; ``moved`` are lines on what moved."""
    lines = [
        f"### {_plain(decision.sentence)}",
        "",
        f"`{decision.names[0]}` → `{decision.names[1]}`, {decision.basis}.",
        *(["", f"> {decision.caution}"] if decision.caution else []),
        "",
        "| measure | value |",
        "|---|---:|",
        *(f"| {name.strip()} | {value} |" for name, value in decision.rows()),
        *(["", *(f"- {_plain(line)}" for line in moved)] if moved else []),
    ]
    return "\n".join(lines) + "\n"


def decision_junit(decision: Decision, moved: Sequence[str] = ()) -> str:
    """Write a decision as a JUnit test suite of one test; undecided is an error, not a pass."""
    failed, undecided = (str(int(decision.outcome == what)) for what in ("fail", "undecided"))
    suite = ElementTree.Element(
        "testsuite", name="sag-vicreg gate", tests="1", failures=failed, errors=undecided
    )
    case = ElementTree.SubElement(
        suite, "testcase", classname="sag-vicreg.gate", name=" to ".join(decision.names)
    )
    details = (f"{name}: {value}" for name, value in decision.rows())
    text = "\n".join((decision.basis, *details, *moved))
    if decision.outcome == "pass":
        ElementTree.SubElement(case, "system-out").text = f"{decision.sentence}\n{text}"
    else:
        tag = "failure" if decision.outcome == "fail" else "error"
        ElementTree.SubElement(case, tag, message=decision.sentence).text = text
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def decision_html(decision: Decision) -> str:
    """Write a decision for a notebook."""
    rows = "".join(
        f"<tr><td style='text-align:left'>{escape(name)}</td><td>{escape(value)}</td></tr>"
        for name, value in decision.rows()
    )
    caution = f"<p>{escape(decision.caution)}</p>" if decision.caution else ""
    return (
        f"<p><strong style='color:{_COLOURS[decision.outcome]}'>{decision.outcome.upper()}"
        f"</strong>: {escape(decision.reason)}</p>{caution}"
        f"<table>{rows}</table><p><small>{escape(decision.basis)}</small></p>"
    )


def _plain(text: str) -> str:
    """Keep names and texts from being read as markup: no links, no pictures from elsewhere."""
    return re.sub(r"([\\`*_\[\]|])", r"\\\1", text).replace("<", "&lt;")


def sweep_html(found: Sweep) -> str:
    """Write a sweep for a notebook."""
    rows = "".join(
        f"<tr{' style=font-weight:bold' if each is found.chosen else ''}>"
        f"<td style='text-align:left'>{escape(each.name)}</td><td>{each.bytes:,}</td>"
        f"<td>{each.decision.similarity.spearman:.4f}</td><td>{each.recall:.1%}</td>"
        f"<td style='color:{_COLOURS[each.decision.outcome]}'>{each.decision.outcome}</td></tr>"
        for each in found.candidates
    )
    head = "".join(f"<th>{name}</th>" for name in ("", "bytes", "forest", "recall@10", "gate"))
    return f"<p>{escape(found.sentence())}</p><table><tr>{head}</tr>{rows}</table>"
