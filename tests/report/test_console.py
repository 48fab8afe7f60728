"""Tables on a pipe: plain, 80 columns, and names that cannot drive the terminal."""

from __future__ import annotations

import io

import pytest

from tritonobs.report.console import (
    Column,
    Line,
    Table,
    plain,
    print_link,
    print_table,
    table_text,
)

TABLE = Table(
    title="inspect [bold]version[/] 1",
    columns=(Column(title="stage"), Column(title="mean", right=True)),
    lines=(Line(cells=("decode", "85 ms"), style="yellow"), Line(cells=("a\x1b[2J[red]\nb", "1 ms"))),
    notes=("Most of a request goes to decode.",),
)


def test_a_table_on_a_pipe_is_plain_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """No colour codes, no markup, no line longer than 80 columns, names as data."""
    monkeypatch.delenv("COLUMNS", raising=False)
    text = table_text(TABLE)

    assert "\x1b" not in text
    assert "inspect [bold]version[/] 1" in text
    assert "a\\x1b[2J[red]\\nb" in text
    assert max(map(len, text.splitlines())) <= 80


def test_numbers_stand_right(monkeypatch: pytest.MonkeyPatch) -> None:
    """Units stand under each other."""
    monkeypatch.delenv("COLUMNS", raising=False)
    lines = [line.rstrip() for line in table_text(TABLE).splitlines()]
    decode = next(line for line in lines if "decode" in line)
    hostile = next(line for line in lines if "x1b" in line)

    assert len(decode) == len(hostile)


def test_nothing_is_lost_in_a_narrow_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A long name is folded, never cut."""
    monkeypatch.setenv("COLUMNS", "40")
    name = "".join(f"model{number}_" for number in range(20))
    table = Table(title="t", columns=(Column(title="model", wrap=True),), lines=(Line(cells=(name,)),))

    assert name in "".join(line.strip() for line in table_text(table).splitlines())


@pytest.mark.parametrize("columns", ["80", "40", "12"])
def test_numbers_are_whole_beside_a_long_name(monkeypatch: pytest.MonkeyPatch, columns: str) -> None:
    """A rate without its last digits is another rate: names are folded, and lines get longer, before that."""
    monkeypatch.setenv("COLUMNS", columns)
    name, origin = "model_" * 12, "models.other.qps_limit"
    rates = tuple(f"{number}98765.5" for number in range(1, 5))
    table = Table(
        title="t",
        columns=(
            Column(title="model"),
            *(Column(title=f"rate {number}", right=True) for number in range(1, 5)),
            Column(title="from", wrap=True),
        ),
        lines=(Line(cells=(name, *rates, origin)),),
    )

    head, *rows = (line for line in table_text(table).splitlines()[1:] if line.strip() and "─" not in line)
    first = next(row for row in rows if rates[0] in row)

    assert first.split()[1:5] == list(rates)
    assert "".join(row[: first.index(rates[0])].strip() for row in rows) == name
    assert "".join(row[head.index("from") :].strip() for row in rows) == origin


def test_no_color_is_honoured_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """NO_COLOR set: bold may stay, colours go."""
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    terminal = _Terminal()

    print_table(TABLE, file=terminal)

    assert "\x1b[33m" not in terminal.getvalue()


def test_colours_are_used_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """The marked row is yellow there, so the test above can fail."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    terminal = _Terminal()

    print_table(TABLE, file=terminal)

    assert "\x1b[33m" in terminal.getvalue()


def test_a_long_address_is_cut_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal one line, and a link to all of it; in a file every letter."""
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("TERM", "xterm")
    url, terminal, file = f"http://a/{'x' * 60}", _Terminal(), io.StringIO()

    print_link("trend", url, file=terminal)
    print_link("trend", url, file=file)

    assert file.getvalue() == f"trend: {url}\n"
    assert f";{url}\x1b\\http://a/" in terminal.getvalue()
    assert "…" in terminal.getvalue()
    assert terminal.getvalue().count("\n") == 1


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Prüfung ☃ 检查", "Prüfung ☃ 检查"),
        ("a\tb\r\x00\x9b", "a\\tb\\r\\x00\\u009b"),
        ("\u202egpj", "\\u202egpj"),
    ],
)
def test_plain_spells_out_what_is_not_printable(text: str, shown: str) -> None:
    """Letters of every language stay; what moves a cursor or turns text around does not."""
    assert plain(text) == shown


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True
