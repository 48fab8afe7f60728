"""Where programs are looked for, and what is said when they are not there."""

import pytest

from tritonobs import programs, registry
from tritonobs.errors import StackError
from tritonobs.extensions.lab.stack import packages


@pytest.fixture(name="empty_machine")
def _empty_machine(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.setenv("TRITONOBS_TOOLS", str(tmp_path / "tools"))
    return tmp_path


def _program(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_find_names_the_command_that_installs(empty_machine):
    """A missing program is one sentence with the way to get it."""
    with pytest.raises(
        StackError, match=r"^promtool is neither on PATH nor in .*; install it with: tritonobs tools$"
    ):
        programs.find("promtool")


def test_find_names_no_command_that_is_not_there(empty_machine, monkeypatch):
    """`tools` is one of the laboratory's."""
    monkeypatch.setattr(registry, "NAMES", ())

    with pytest.raises(StackError, match=r"^promtool is neither on PATH nor in \S+$"):
        programs.find("promtool")


def test_find_prefers_path_over_tools(empty_machine):
    """What the user installed wins over what we brought."""
    _program(empty_machine / "tools/usr/bin/promtool")
    mine = _program(empty_machine / "path/promtool")

    assert programs.find("promtool") == mine


def test_find_knows_the_name_debian_gives_alertmanager(empty_machine):
    """Debian calls the program prometheus-alertmanager."""
    debian = _program(empty_machine / "tools/usr/bin/prometheus-alertmanager")

    assert programs.find("alertmanager") == debian


def test_missing_packages_asks_for_a_package_only_when_a_file_of_it_is_missing(empty_machine):
    """The program promtool alone is not Prometheus."""
    _program(empty_machine / "path/promtool")
    for name in ("prometheus-alertmanager", "amtool"):
        _program(empty_machine / "path" / name)

    names = [package.names[0] for package in packages.missing_packages()]

    assert "prometheus" in names
    assert "prometheus-alertmanager" not in names


def test_install_without_apt_says_what_to_do(empty_machine):
    """On another distribution the user gets the download page, not a traceback."""
    with pytest.raises(
        StackError, match=r"no apt-get here; put prometheus, .*https://prometheus\.io/download/"
    ):
        packages.install(packages.PACKAGES, print)
