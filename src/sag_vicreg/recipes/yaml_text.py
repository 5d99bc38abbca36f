"""YAML in, plain Python out, without YAML 1.1's surprises; and how two fragments merge."""

import re
from typing import Any

import yaml

from sag_vicreg.door import MOST_DEPTH, check_brackets, check_values
from sag_vicreg.errors import InputError

MOST_NODES = 100_000
"""Values in a YAML file, those behind aliases counted as often as they appear."""


class _Loader(yaml.SafeLoader):
    """Reads ``1e-6`` as a number: YAML 1.1 wants ``1.0e-6`` and makes a string of the rest."""

    def construct_document(self, node: yaml.Node) -> Any:
        # Counted before anything is built: a few aliases of aliases can stand for billions.
        _check_nodes(node)
        return super().construct_document(node)


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+$"),
    list("-+.0123456789"),
)


def parse_yaml(text: str) -> Any:
    """Parse YAML into plain values, of bounded depth and number."""
    check_brackets(text)
    value = yaml.load(text, _Loader)  # a SafeLoader: plain values only
    check_values(value)
    return value


def parse_option(value: str, option: str) -> Any:
    """Parse the value of an option; a mistake in it is one line that names the option."""
    try:
        return parse_yaml(value)
    # Dates that no calendar has and endless nesting are not YAMLErrors.
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise InputError(f"{option} is not YAML: {' '.join(str(error).split())}") from error


def _check_nodes(root: yaml.Node) -> None:
    waiting = [(root, 0)]
    seen = 0
    while waiting:
        node, depth = waiting.pop()
        seen += 1
        if seen > MOST_NODES:
            raise InputError(f"it holds more than {MOST_NODES:,} values, aliases followed")
        if depth > MOST_DEPTH:
            raise InputError(f"it is nested more than {MOST_DEPTH} levels deep")
        if isinstance(node, yaml.MappingNode):
            waiting += [(part, depth + 1) for pair in node.value for part in pair]
        elif isinstance(node, yaml.SequenceNode):
            waiting += [(part, depth + 1) for part in node.value]


def merge(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """Lay ``over`` on ``base``: mappings key by key, everything else replaced."""
    merged = dict(base)
    for key, value in over.items():
        under = merged.get(key)
        if isinstance(under, dict) and isinstance(value, dict):
            value = merge(under, value)
        merged[key] = value
    return merged
