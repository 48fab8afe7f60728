"""Debian's Alertmanager reads its own templates from /usr/share, where only root can put them.

Its binary is given another path of the same length, `/proc/self/fd/9/…`, and a starter that opens the
unpacked folder as descriptor 9: it then runs from anywhere, with any working folder.
"""

from __future__ import annotations

from pathlib import Path

_HOME = b"/usr/share/prometheus/alertmanager"
_THROUGH_DESCRIPTOR = b"/proc/self/fd/9/./././alertmanager"
_STARTER = """#!/bin/sh
here=$(dirname "$(readlink -f "$0")")
exec 9<"$here/../share/prometheus"
exec "$here/{real}" "$@"
"""


def relocate_alertmanager(program: Path) -> bool:
    """Let an unpacked `prometheus-alertmanager` run without root; whether there was anything to do."""
    templates = program.parent.parent / "share" / "prometheus" / "alertmanager" / "default.tmpl"
    if not program.is_file() or not templates.is_file():
        return False
    code = program.read_bytes()
    if _HOME not in code:
        return False
    real = program.with_name(f".{program.name}.real")
    real.write_bytes(code.replace(_HOME, _THROUGH_DESCRIPTOR))
    real.chmod(0o755)
    starter = program.with_name(f".{program.name}.new")
    starter.write_text(_STARTER.format(real=real.name), encoding="utf-8")
    starter.chmod(0o755)
    starter.replace(program)
    return True
