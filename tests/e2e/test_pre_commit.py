"""The hook as a user has it: pre-commit itself, in a repository of theirs, installs it and stops a commit."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

GIT = shutil.which("git")
pytestmark = [
    pytest.mark.e2e,
    pytest.mark.timeout(900),
    pytest.mark.skipif(GIT is None, reason="no git here; on Debian: apt-get install git"),
    pytest.mark.skipif(
        importlib.util.find_spec("pre_commit") is None, reason="pre-commit is not installed; run: make setup"
    ),
]

ROOT = Path(__file__).parents[2]
RULES = """\
groups:
  - name: triton
    rules:
      - alert: TritonBusy
        expr: nv_gpu_utilization > 80
"""
FINDING = "deploy/triton.rules.yaml:5:36: ratio-and-percent: TritonBusy: the value is between 0 and 1: > 80"


def _git(folder, *words, check=True, **variables):
    env = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, **variables}
    command = [GIT, "-C", folder, "-c", "user.name=a", "-c", "user.email=a@example.org", *words]
    return subprocess.run(command, check=check, capture_output=True, text=True, env=env)


@pytest.fixture(name="released", scope="module")
def _released(tmp_path_factory):
    """A repository with this checkout as it is, as its one release."""
    folder = tmp_path_factory.mktemp("released") / "tritonobs"
    there = _git(ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard").stdout
    for name in filter(None, there.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    _git(folder, "init", "--quiet")
    _git(folder, "add", "--all", "--force")
    _git(folder, "commit", "--quiet", "--no-verify", "--message", "all of it")
    yield folder
    # The practice stack's code holds the secrets that it makes up; they are searched for after all tests.
    shutil.rmtree(folder)


@pytest.fixture(name="cache")
def _cache(tmp_path):
    """Where pre-commit keeps its copy of the release."""
    yield tmp_path / "cache"
    shutil.rmtree(tmp_path / "cache", ignore_errors=True)


@pytest.fixture(name="repository")
def _repository(released, tmp_path):
    """A user's repository with the hook of docs/lint.md, installed by pre-commit."""
    folder = tmp_path / "theirs"
    folder.mkdir()
    rev = _git(released, "rev-parse", "HEAD").stdout.strip()
    hooks = [{"repo": str(released), "rev": rev, "hooks": [{"id": "tritonobs-lint"}]}]
    (folder / ".pre-commit-config.yaml").write_text(yaml.safe_dump({"repos": hooks}))
    _git(folder, "init", "--quiet")
    subprocess.run(
        [sys.executable, "-m", "pre_commit", "install"], check=True, capture_output=True, cwd=folder
    )
    return folder


def test_a_commit_with_a_finding_is_stopped_and_a_right_one_is_made(repository, cache):
    """In an environment that pre-commit makes of the release; other files do not start it."""
    held = {"PRE_COMMIT_HOME": str(cache)}
    rules = repository / "deploy" / "triton.rules.yaml"
    rules.parent.mkdir()
    (repository / "main.py").write_text("pass\n")

    _git(repository, "add", "main.py", **held)
    other = _git(repository, "commit", "--message", "a program", **held)
    rules.write_text(RULES)
    _git(repository, "add", "--all", **held)
    wrong = _git(repository, "commit", "--message", "wrong", check=False, **held)
    rules.write_text(RULES.replace("80", "0.8"))
    _git(repository, "add", "--all", **held)
    right = _git(repository, "commit", "--message", "right", check=False, **held)

    assert "Skipped" in other.stdout + other.stderr
    assert wrong.returncode == 1
    assert FINDING in wrong.stdout + wrong.stderr
    assert right.returncode == 0, right.stdout + right.stderr
    assert _git(repository, "log", "--format=%s").stdout.split("\n")[:2] == ["right", "a program"]
