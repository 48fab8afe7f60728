"""Options with the values, and the error texts, of the fleet file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

Value = TypeVar("Value")


class Parsed(click.ParamType[Any]):
    """A value read by one of the fleet file's own parsers."""

    def __init__(self, name: str, parse: Callable[[object], Value]) -> None:
        self.name = name
        self._parse = parse

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ANN401 (click's own signature)
        """The value, or a usage error with the parser's sentence."""
        try:
            return self._parse(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)
