"""Options whose values mean what they mean in the fleet file, and are refused with the same sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from collections.abc import Callable

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
