"""Fleet files that try to hang, swell or crash their reader, by what each of them does."""

from __future__ import annotations

from typing import Final

HEAD: Final = 'fleet: f\nreplicas: [{name: a, url: "http://10.0.0.1:8000"}]\n'
LARGE: Final = 10 * 1024 * 1024
"""Above the size that is read at all."""
MOST: Final = 4_000_000
"""Just below it."""


def _filled(line: str, *, size: int = MOST, head: str = HEAD + "models:\n") -> str:
    """As many lines as there is room for; `{n}` in a line is its number."""
    length = len(line.format(n=10**6))
    return head + "".join(line.format(n=number) for number in range((size - len(head)) // length))


def _schedules(count: int) -> str:
    entry = "{qps_limit: 5, valid_from: 2026-01-01T00:00Z}"
    return HEAD + "models: {m: {scheduled_limits: [" + ", ".join([entry] * count) + "]}}\n"


def _layers(width: int) -> str:
    """Every pipeline calls one model that calls all the others."""
    leaves = "".join(f"  leaf{number}: {{}}\n" for number in range(width))
    calls = ", ".join(f"leaf{number}: 1" for number in range(width))
    hub = f"  hub: {{pipeline: bls, calls: {{{calls}}}}}\n"
    callers = "".join(f"  p{number}: {{pipeline: bls, calls: {{hub: 1}}}}\n" for number in range(width))
    return HEAD + "models:\n" + leaves + hub + callers


def _chain(length: int, calls: str) -> str:
    links = (
        f"  m{number}: {{pipeline: bls, calls: {{m{number + 1}: {calls}}}, qps_limit: 5}}\n"
        for number in range(length)
    )
    return HEAD + "models:\n" + "".join(links) + f"  m{length}: {{}}\n"


def _limit(value: str) -> str:
    return HEAD + f"models: {{m: {{qps_limit: {value}}}}}\n"


def _laughs() -> str:
    levels = "".join(f"b{n}: &a{n + 1} [{', '.join([f'*a{n}'] * 9)}]\n" for n in range(200))
    return "a: &a0 [x, x]\n" + levels


FILES: Final[dict[str, str]] = {
    "calls of 1e-99999999": HEAD + "models:\n  m: {pipeline: bls, calls: {x: 1e-99999999}, qps_limit: 5}\n"
    "  x: {qps_limit: 5}\n",
    "a limit of 1e-99999999": _limit("1e-99999999"),
    "a limit of 1e-999999999999": _limit("1e-999999999999"),
    "a limit of 1e999999999": _limit("1e999999999"),
    "a limit with many digits": _limit("1" * 4_200),
    "a limit with many decimals": _limit("1." + "0" * 100_000 + "1"),
    "an objective with many decimals": HEAD
    + "models: {m: {slos: {a: {objective: 0.9"
    + "9" * 100_000
    + "}}}}\n",
    "an objective of 1e-99999999": HEAD + "models: {m: {slos: {a: {objective: 1e-99999999}}}}\n",
    "4,200 digits of days": HEAD + f"slo_period: {'1' * 4_200}d\nmodels: {{m: {{}}}}\n",
    "9,000 digits of days": HEAD + f"slo_period: {'1' * 9_000}d\nmodels: {{m: {{}}}}\n",
    "seconds with many decimals": HEAD + "models: {m: {slos: {a: {threshold: 0." + "0" * 100_000 + "1s}}}}\n",
    "a version with many digits": HEAD + f"models: {{m: {{versions: {{'{'1' * 4_200}': {{}}}}}}}}\n",
    "a port with many digits": f"fleet: f\nreplicas: [{{name: a, url: 'http://h:{'1' * 9_000}'}}]\n"
    "models: {m: {}}\n",
    "messages a minute with many digits": HEAD
    + "models: {m: {}}\nnotify: {dingtalk: {a: {webhook_env: A, messages_per_minute: "
    + "1" * 9_000
    + "}}}\n",
    "a zone that is a path": HEAD + "models: {m: {}}\nnotify: {timezone: ../../../../../../dev/zero}\n",
    "a zone with a NUL": HEAD + 'models: {m: {}}\nnotify: {timezone: "a\\0b"}\n',
    "a file with a NUL": HEAD + 'models: {m: {}}\nnotify: {dingtalk: {a: {webhook_file: "a\\0b"}}}\n',
    "a log with a NUL": HEAD + 'models: {m: {}}\nlimits_log: "a\\0b"\n',
    "half a surrogate": HEAD + 'models: {"\\ud800": {qps_limit: x}}\n',
    "400 schedules at one time": _schedules(400),
    "many schedules at one time": _schedules(50_000),
    "500 unknown names": HEAD
    + "models:\n"
    + "".join(f"  model_{'x' * 80}{n}: {{}}\n" for n in range(500))
    + "  p:\n    pipeline: bls\n    calls:\n"
    + "".join(f"      modle_{'x' * 80}{n}: 1\n" for n in range(500)),
    "many unknown names": _filled(
        "      unknown{n}: 1\n",
        size=2_000_000,
        head=HEAD
        + "models:\n"
        + "".join(f"  model{n}: {{}}\n" for n in range(20_000))
        + "  p:\n    pipeline: bls\n    calls:\n",
    ),
    "many unknown fields": _filled("unknown{n}: 1\n", head=HEAD + "models: {m: {}}\n"),
    "many wrong values": _filled("  m{n}: {{qps_limit: x}}\n"),
    "many models": _filled("  m{n}: {{qps_limit: 5, slos: {{a: {{objective: 99%}}}}}}\n"),
    "many versions": _filled("      '{n}': {{qps_limit: 5}}\n", head=HEAD + "models:\n  m:\n    versions:\n"),
    "many replicas": _filled(
        "  - {{name: a, url: 'http://h:1'}}\n", head="fleet: f\nmodels: {m: {}}\nreplicas:\n"
    ),
    "many latency bounds": HEAD + "models: {m: {latency_bounds: [" + "5s, " * 400_000 + "]}}\n",
    "duplicate keys": _filled("  m: 1\n"),
    "tags": _filled("  m{n}: !x 1\n"),
    "anchors": _filled("  m{n}: &a{n} 1\n"),
    "aliases": HEAD + "x: &a 1\nmodels:\n" + "".join(f"  m{n}: *a\n" for n in range(300_000)),
    "merges of a large mapping": HEAD
    + "models: &big\n"
    + "".join(f"  m{n}: {{}}\n" for n in range(2_000))
    + "".join(f"x{n}: {{<<: *big}}\n" for n in range(20_000)),
    "a billion laughs": _laughs(),
    "deep brackets": "[" * MOST,
    "deep braces": "{a: " * (MOST // 4),
    "deep indents": "".join(" " * n + "a:\n" for n in range(2_500)),
    "deep dashes": "- " * (MOST // 2),
    "one long line": "a" * MOST,
    "one long text": HEAD + "models: {m: {team: '" + "x" * MOST + "'}}\n",
    "one long name": HEAD + "models: {'" + "x" * 3_000_000 + "': {}}\n",
    "an open quote": "a: '" + "x\n" * (MOST // 2),
    "many documents": "---\na: 1\n" * (MOST // 9),
    "comments": "# a\n" * (MOST // 4),
    "question marks": "? " * (MOST // 2),
    "colons": ": " * (MOST // 2),
    "NULs": "\0" * MOST,
    "pipelines of pipelines": _layers(20_000),
    "a chain of calls": _chain(40_000, "1"),
    "a chain of many calls": _chain(200, "10000"),
    "a pipe as another file": HEAD + "models: {m: {}}\nnotify: {alertmanager_file: FIFO}\n",
    "an endless file as another file": HEAD + "models: {m: {}}\nnotify: {alertmanager_file: /dev/zero}\n",
    "too large": "a: 1\n" * (LARGE // 5),
}
