"""YAML in, plain Python out, without YAML 1.1's surprises; and how two fragments merge."""

import re
from typing import Any

import yaml

from sag_vicreg.errors import InputError


class _Loader(yaml.SafeLoader):
    """Reads ``1e-6`` as a number: YAML 1.1 wants ``1.0e-6`` and makes a string of the rest."""


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+$"),
    list("-+.0123456789"),
)


def parse_yaml(text: str, source: str) -> Any:
    """Parse ``text``; a mistake in it is one line that names ``source`` and the place."""
    try:
        return yaml.load(text, Loader=_Loader)  # a SafeLoader: plain values only
    # Dates that no calendar has and endless nesting are not YAMLErrors.
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise InputError(f"{source} is not YAML: {' '.join(str(error).split())}") from error


def merge(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """Lay ``over`` on ``base``: mappings key by key, everything else replaced."""
    merged = dict(base)
    for key, value in over.items():
        under = merged.get(key)
        if isinstance(under, dict) and isinstance(value, dict):
            value = merge(under, value)
        merged[key] = value
    return merged
