"""Pydantic's list of errors as the one line a user needs."""

from difflib import get_close_matches
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from sag_vicreg.errors import unknown_name
from sag_vicreg.recipes.method_sections import METHOD_PLUGINS, find_method


def one_line(error: ValidationError, model: type[BaseModel]) -> str:
    """Describe the first error, an unknown key before anything that follows from it."""
    errors = error.errors(include_url=False)
    first = next((e for e in errors if e["type"] == "extra_forbidden"), errors[0])
    others = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    return _describe(first, model) + others


def _describe(error: Any, model: type[BaseModel]) -> str:
    key, section = _locate(error["loc"], model)
    kind = error["type"]
    if kind == "extra_forbidden":
        valid = sorted(section.model_fields)
        near = get_close_matches(str(error["loc"][-1]), valid, n=1)
        hint = f" did you mean '{near[0]}'?" if near else ""
        return f"unknown key {key}:{hint} Valid: {', '.join(valid)}"
    if kind == "missing":
        return f"{key} is missing"
    if kind == "union_tag_invalid":
        tag = str(error["ctx"]["tag"])
        valid = [name.strip("'") for name in error["ctx"]["expected_tags"].split(", ")]
        valid += METHOD_PLUGINS.names() if key == "method" else ()
        return str(unknown_name(f"{key}.name", tag, valid))
    if kind == "union_tag_not_found":
        return f"{key}.name is missing"
    if kind == "value_error":  # ours: it names its own keys and values
        return str(error["ctx"]["error"])
    message = error["msg"][0].lower() + error["msg"][1:]
    return f"{key} is {error['input']!r}: {message}"


def _locate(location: tuple[Any, ...], model: type[BaseModel]) -> tuple[str, type[BaseModel]]:
    """Write the location with dots, and find the section it ends in.

    A discriminated union puts the tag (``sag-vicreg``) into the location; it is not a key.
    """
    section = model
    keys: list[str] = []
    parts = map(str, location)
    for part in parts:
        keys.append(part)
        field = section.model_fields.get(part)
        types = () if field is None else (field.annotation, *get_args(field.annotation))
        options = [o for o in types if isinstance(o, type) and issubclass(o, BaseModel)]
        if not options:
            break
        section = options[0]
        if len(options) > 1:  # a union told apart by name
            tag = next(parts, "")
            named = (o for o in options if tag in get_args(o.model_fields["name"].annotation))
            section = next(named, None) or find_method(tag) or section
    return ".".join(keys), section
