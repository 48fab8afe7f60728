"""The fleet file in use: the last valid one, and the effects of its changes."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

import pytest

from tritonobs.delivery.metrics import DeliveryMetrics
from tritonobs.errors import SecretUnusable, SpecInvalid
from tritonobs.serve import config
from tritonobs.serve.config import Served, Watcher, load_served

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

GOOD_TEMPLATE = "{% for a in alerts %}{{ a.name }} {{ a.subject }}{% endfor %}"


@pytest.fixture
def watched() -> Callable[[Path], tuple[Watcher, list[Served], DeliveryMetrics]]:
    """A watcher of a file, what it applied, and its metrics."""

    def watch(path: Path) -> tuple[Watcher, list[Served], DeliveryMetrics]:
        applied: list[Served] = []
        metrics = DeliveryMetrics()
        return Watcher(path, load_served(path), applied.append, metrics), applied, metrics

    return watch


def _value(metrics: DeliveryMetrics, name: str) -> float | None:
    return metrics.registry.get_sample_value(name)


def test_good_change_is_applied(fleet_file, watched) -> None:
    """The new limit is in use, the generation has grown."""
    path = fleet_file()
    watcher, applied, metrics = watched(path)
    path.write_text(path.read_text().replace("qps_limit: 8", "qps_limit: 9"))
    asyncio.run(watcher.look())
    assert {int(limit.qps) for limit in applied[-1].plan.limits} == {9}
    assert _value(metrics, "tritonobs_config_generation") == 2
    assert _value(metrics, "tritonobs_config_valid") == 1


def test_unchanged_file_is_left_alone(fleet_file, watched) -> None:
    """Looking costs a stat, not a load."""
    watcher, applied, metrics = watched(fleet_file())
    asyncio.run(watcher.look())
    assert applied == []
    assert _value(metrics, "tritonobs_config_generation") == 1


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("fleet: [", id="no YAML"),
        pytest.param("fleet: shop\n", id="half a file"),
        pytest.param("", id="empty"),
    ],
)
def test_bad_change_leaves_the_last_good_one(fleet_file, watched, caplog, text: str) -> None:
    """It is told once, stays told in a metric, and ends with the next good one."""
    path = fleet_file()
    good = path.read_text()
    watcher, applied, metrics = watched(path)
    path.write_text(text)
    for _ in range(3):
        asyncio.run(watcher.look())
    assert (applied, _value(metrics, "tritonobs_config_valid")) == ([], 0)
    assert sum("last valid one stays in use" in record.message for record in caplog.records) == 1
    path.write_text(good)
    asyncio.run(watcher.look())
    assert len(applied) == 1
    assert _value(metrics, "tritonobs_config_valid") == 1


def test_file_that_vanishes_is_a_bad_change(fleet_file, watched) -> None:
    """An editor or a mount may take it away for a moment."""
    path = fleet_file()
    watcher, applied, metrics = watched(path)
    path.rename(path.with_suffix(".away"))
    asyncio.run(watcher.look())
    assert (applied, _value(metrics, "tritonobs_config_valid")) == ([], 0)
    path.with_suffix(".away").rename(path)
    asyncio.run(watcher.look())
    assert len(applied) == 1


def test_template_is_followed_too(fleet_file, watched) -> None:
    """A change of the template's file alone is a change."""
    path = fleet_file(robot="template_file: t.j2")
    template = path.with_name("t.j2")
    template.write_text(GOOD_TEMPLATE)
    watcher, applied, _ = watched(path)
    template.write_text(GOOD_TEMPLATE + "{{ mentions }}")
    asyncio.run(watcher.look())
    assert len(applied) == 1


def test_new_token_is_the_one_that_is_accepted(fleet_file, watched) -> None:
    """A change of the token's file alone is a change: the old token is refused from then on."""
    path = fleet_file(notify="  auth: {token_file: token}")
    token = path.with_name("token")
    token.touch(mode=0o600)
    token.write_text("old")
    watcher, applied, _ = watched(path)
    asyncio.run(watcher.look())
    assert applied == []
    token.write_text("new")
    asyncio.run(watcher.look())

    (served,) = applied
    assert served.gate is not None
    assert [served.gate.admits(f"Bearer {one}") for one in ("old", "new")] == [False, True]


def test_bad_template_is_a_finding_with_its_place(fleet_file) -> None:
    """The template's file, the robot's field, what is wrong."""
    path = fleet_file(robot="template_file: t.j2")
    path.with_name("t.j2").write_text("{{ headlin }}")
    with pytest.raises(SpecInvalid, match=r"t\.j2: notify\.dingtalk\.oncall\.template_file: .*headlin"):
        load_served(path)


@pytest.mark.parametrize("name", ["webhook", "secret"])
def test_secret_everybody_can_read_stops_the_start(fleet_file, name: str) -> None:
    """Before anything is served."""
    path = fleet_file()
    path.with_name(name).chmod(0o644)
    with pytest.raises(SecretUnusable, match=r"robot oncall: .*run: chmod o-rwx"):
        load_served(path)


def test_repaired_secret_ends_a_bad_change(fleet_file, watched) -> None:
    """The fleet file itself need not change again."""
    path = fleet_file()
    watcher, applied, metrics = watched(path)
    path.with_name("secret").chmod(0o644)
    path.write_text(path.read_text() + "\n")
    asyncio.run(watcher.look())
    assert _value(metrics, "tritonobs_config_valid") == 0
    path.with_name("secret").chmod(0o600)
    asyncio.run(watcher.look())
    assert len(applied) == 1


@pytest.mark.parametrize("during", ["the fleet file", "a template"])
def test_change_made_during_a_load_is_seen_at_the_next_look(
    fleet_file, watched, monkeypatch, during: str
) -> None:
    """What was read is what was there before the load, whatever stands there after it."""
    path = fleet_file(robot="template_file: t.j2")
    template = path.with_name("t.j2")
    template.write_text(GOOD_TEMPLATE)
    watcher, applied, _ = watched(path)
    ours, changes = config.build_plan, [1]

    def changed_meanwhile(*args):
        plan = ours(*args)
        if changes:
            changes.pop()
            if during == "a template":
                template.write_text(GOOD_TEMPLATE + "{{ mentions }}")
            else:
                path.write_text(path.read_text().replace("qps_limit: 9", "qps_limit: 10"))
        return plan

    path.write_text(path.read_text().replace("qps_limit: 8", "qps_limit: 9"))
    monkeypatch.setattr(config, "build_plan", changed_meanwhile)
    for _ in range(2):
        asyncio.run(watcher.look())
    assert len(applied) == 2
    wanted = 9 if during == "a template" else 10
    assert {int(limit.qps) for limit in applied[-1].plan.limits} == {wanted}
    asyncio.run(watcher.look())
    assert len(applied) == 2


def test_change_that_keeps_size_and_time_is_seen(fleet_file, watched) -> None:
    """Content counts: clocks of file systems are coarse, and some tools set them back."""
    path = fleet_file()
    watcher, applied, _ = watched(path)
    times = (path.stat().st_atime_ns, path.stat().st_mtime_ns)
    path.write_text(path.read_text().replace("qps_limit: 8", "qps_limit: 9"))
    os.utime(path, ns=times)
    asyncio.run(watcher.look())
    assert len(applied) == 1


def test_file_that_is_only_touched_is_no_change(fleet_file, watched) -> None:
    """The same content is the same file."""
    path = fleet_file()
    watcher, applied, _ = watched(path)
    path.write_text(path.read_text())
    os.utime(path, (1, 1))
    asyncio.run(watcher.look())
    assert applied == []


def test_new_file_that_cannot_be_put_to_use_is_not_in_use(fleet_file) -> None:
    """A slip while it is applied: invalid, raised for the supervisor, and tried again at the next look."""
    path = fleet_file()
    metrics, applied = DeliveryMetrics(), []

    def apply(served: Served) -> None:
        applied.append(served)
        if len(applied) == 1:
            raise IsADirectoryError(21, "Is a directory")

    watcher = Watcher(path, load_served(path), apply, metrics)
    path.write_text(path.read_text().replace("qps_limit: 8", "qps_limit: 9"))
    with pytest.raises(IsADirectoryError):
        asyncio.run(watcher.look())
    assert _value(metrics, "tritonobs_config_valid") == 0
    asyncio.run(watcher.look())
    assert (len(applied), _value(metrics, "tritonobs_config_valid")) == (2, 1)


@pytest.mark.parametrize("kind", ["a pipe", "a device", "a folder"])
def test_what_is_no_file_is_a_bad_change_and_not_waited_for(fleet_file, watched, kind: str) -> None:
    """The last valid one stays in use; the file is followed again once it is one."""
    path = fleet_file()
    good = path.read_text()
    watcher, applied, metrics = watched(path)
    path.unlink()
    {"a pipe": os.mkfifo, "a device": lambda one: one.symlink_to("/dev/zero"), "a folder": os.mkdir}[kind](
        path
    )
    asyncio.run(watcher.look())
    assert (applied, _value(metrics, "tritonobs_config_valid")) == ([], 0)
    path.rmdir() if kind == "a folder" else path.unlink()
    path.write_text(good)
    asyncio.run(watcher.look())
    assert (len(applied), _value(metrics, "tritonobs_config_valid")) == (1, 1)


def test_secrets_are_found_after_a_mounted_config_map_moved_on(fleet_file) -> None:
    """A cluster swaps a folder of links and takes the old one away; what the fleet file names stays there."""
    folder = fleet_file().parent
    first, second, data = (folder / name for name in ("..v1", "..v2", "..data"))
    for version in (first, second):
        version.mkdir()
        for name in ("fleet.yaml", "webhook", "secret"):
            (version / name).write_bytes((folder / name).read_bytes())
            (version / name).chmod(0o440)
    data.symlink_to(first.name)
    for name in ("fleet.yaml", "webhook", "secret"):
        (folder / name).unlink()
        (folder / name).symlink_to(f"..data/{name}")

    (robot,) = load_served(folder / "fleet.yaml").plan.notify.robots
    data.unlink()
    data.symlink_to(second.name)
    for file in first.iterdir():
        file.unlink()

    assert robot.webhook.file is not None
    assert robot.webhook.file.read_text().startswith("https://oapi.dingtalk.com/")
