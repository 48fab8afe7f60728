"""Incidents in `tritonobs serve`: alerts joined as they are delivered, a look for their cause, a folder.

No message depends on it. A look runs in a thread of its own, at most one in a while, and what takes too long
or fails leaves the message as it would be without.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from starlette.routing import Route

from tritonobs import names
from tritonobs.clients.alertmanager import AlertmanagerClient
from tritonobs.clients.prometheus import FiringAlert, PrometheusClient
from tritonobs.clients.triton import TritonClient
from tritonobs.delivery.composer import Said
from tritonobs.delivery.payload import Alert, Sifted, State
from tritonobs.delivery.view import ALERTNAME
from tritonobs.errors import ClientError
from tritonobs.extensions.incidents import chats, ends, recorder
from tritonobs.extensions.incidents.account import said
from tritonobs.extensions.incidents.bill import bill
from tritonobs.extensions.incidents.chats import Manner, Talk, heard, sift, telling, unasked
from tritonobs.extensions.incidents.cost import Cost
from tritonobs.extensions.incidents.ends import Listing, ended, firing
from tritonobs.extensions.incidents.groups import NEAR_SECONDS
from tritonobs.extensions.incidents.incident import Fleet, Incident
from tritonobs.extensions.incidents.join import State as Known
from tritonobs.extensions.incidents.join import Step, join
from tritonobs.extensions.incidents.news import Message
from tritonobs.extensions.incidents.pages import IncidentSeries, Pictures, prometheus_of, routes
from tritonobs.extensions.incidents.recorder import Folder, Recorder
from tritonobs.plan.fleet import Plan, names_by_address
from tritonobs.plan.notify import Robot
from tritonobs.registry import answer
from tritonobs.serve.parts import Say
from tritonobs.tasks import Supervisor, Threads
from tritonobs.timings.promql import Span
from tritonobs.units import parse_moment

_log = logging.getLogger(__name__)
_ROUND_SECONDS = 5.0
_LOOK_SECONDS = 5.0
"""How long a look for the cause may take."""
_PAUSE_SECONDS = 15.0
"""From the beginning of a look to that of the next; and from one reading of Alertmanager's list."""
_LOOK_AGAIN_SECONDS = 60.0
"""The same while nothing new was heard, of incidents that are older than this:"""
_YOUNG_SECONDS = 180.0
"""A dead worker shows first as errors, and half a minute later as what it is."""
_SHORTEST_SECONDS, _LONGEST_SECONDS = 60.0, 3600.0
"""Of the span that a look compares with the time before it."""
_LEAD_SECONDS = 30.0
"""Trouble begins before its first alert."""
_PATIENCE_SECONDS = 1.7
"""How long a message waits for a look: with what else it waits for, two seconds at most."""
_JOIN_SECONDS = 5.0
_SIFT_SECONDS, _RECALL_SECONDS = 1.7, 1.0
_LIST_SECONDS = 10.0
_LIST_AGAIN_SECONDS = 60.0
"""From one reading of what Alertmanager lists to the next, while nothing new was heard."""
_SERVER_SECONDS = 0.7
"""How long a look waits for a server that hangs: less than a message waits for the look."""
_MOST_BILLS, _MOST_KEPT_BILLS = 5, 200


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """Who is asked for the cause."""

    prometheus: PrometheusClient
    alertmanager: AlertmanagerClient
    replicas: tuple[TritonClient, ...]
    called: dict[str, str]

    def close(self) -> None:
        self.prometheus.close()
        self.alertmanager.close()
        for replica in self.replicas:
            replica.close()


class Incidents:
    """The part of `serve`. Made and used inside one event loop."""

    def __init__(self, plan: Plan, supervisor: Supervisor) -> None:
        self._began = time.time()
        self.pictures = Pictures()
        self.series = IncidentSeries()
        self._state = Known()
        self._step: Step | None = None
        self._joining = asyncio.Lock()
        self._join_threads, self._look_threads = Threads("incidents"), Threads("cause")
        self._bill_threads, self._recall_threads = Threads("cost"), Threads("alerts of before")
        self._list_threads = Threads("alerts that fire")
        self._bills: dict[tuple[str, float | None], Cost] = {}
        """By the id of the incident, and when it ended."""
        self._judge: Callable[..., Any] | None = answer("verdict")
        self._look: asyncio.Task[None] | None = None
        self._looked: Any = None
        self._began_at = self._heard_at = -_LOOK_AGAIN_SECONDS
        self._judged_at = 0.0
        """When the last look that found something began, a Unix time."""
        self._tasks: set[asyncio.Task[Step]] = set()
        self._folder: Folder | None = None
        self._talks: dict[str, Talk] = {}
        self._sifted = frozenset[State]()
        self._say: Say | None = None
        self._leads: Callable[[], bool] = lambda: True
        self._speaking: asyncio.Task[None] | None = None
        self._listing = Listing()
        self._reading: asyncio.Task[None] | None = None
        self._read_at = self._recalled_at = -_LIST_AGAIN_SECONDS
        self._use(plan)
        supervisor.keep("incidents", self._round)

    @property
    def incidents(self) -> tuple[Incident, ...]:
        """Those that are known: those that go on first, then the latest of those that are over."""
        return self._step.incidents if self._step else ()

    @property
    def bills(self) -> Mapping[str, Cost]:
        """What incidents cost that are over, by id. One that goes on again has none until its next end."""
        known = ((one.id, self._bills.get((one.id, one.ended))) for one in self.incidents)
        return {ident: cost for ident, cost in known if cost}

    @property
    def recorder(self) -> Recorder | None:
        """The folder in which incidents are kept, if there is one."""
        return self._folder.recorder if self._folder else None

    @property
    def sieve(self) -> Incidents:
        """Itself."""
        return self

    def may_say(self, say: Say, leads: Callable[[], bool]) -> None:
        """Deliver with this what no call brings."""
        self._say, self._leads = say, leads

    def routes(self) -> list[Route]:
        """The pages of incidents."""
        return routes(self)

    def apply(self, plan: Plan) -> None:
        """Use another plan."""
        self._asked.close()
        self._use(plan)

    def _use(self, plan: Plan) -> None:
        self.plan, self._fleet = plan, Fleet.of(plan)
        self._manner = Manner.of(self._fleet, float(plan.incidents.update_seconds))
        robots = {robot.name for robot in plan.notify.robots}
        self._talks = {name: talk for name, talk in self._talks.items() if name in robots}
        folder = plan.incidents.folder
        if folder is None or self._folder is None or self._folder.recorder.folder != folder:
            self._folder = Folder(Recorder(folder)) if folder else None
        self._asked = _clients(plan)

    def close(self) -> None:
        """Look no more."""
        for task in (self._look, self._speaking, self._reading, *self._tasks):
            if task:
                task.cancel()
        self._asked.close()
        self.pictures.close()

    async def sift(self, robot: str, alerts: Sequence[Alert]) -> Sifted:
        """What of these a message need not name now; nothing where that is not known in time."""
        if not self._manner.policy.update_seconds:
            return Sifted()
        try:
            return await asyncio.wait_for(self._sift(robot, alerts), _SIFT_SECONDS)
        except Exception as error:  # noqa: BLE001 (alerts are sent in any case)
            _log.info(
                "these alerts are sent before their incident is known: %s: %s", type(error).__name__, error
            )
            return Sifted()

    async def _sift(self, robot: str, alerts: Sequence[Alert]) -> Sifted:
        if self._state.open and not self._state.alerts:
            await self._recall()
        step, now = await self._joined(alerts), time.time()
        talk, manner = self._talks.get(robot, Talk()), self._manner
        self._talks[robot], sifted = await self._join_threads.run(
            lambda: sift(talk, alerts, step.incidents, now, manner), seconds=_SIFT_SECONDS
        )
        self._sifted = frozenset(one.state for one in alerts)
        return sifted

    async def _recall(self) -> None:
        """Hear from Alertmanager which alerts of incidents that another process told still fire.

        Without its answer, what begins now is another incident.
        """
        asked, known = self._asked, self._state.owners
        try:
            alerts = await self._recall_threads.run(asked.alertmanager.alerts, seconds=_RECALL_SECONDS)
        except Exception as error:  # noqa: BLE001 (alerts are sent in any case)
            _log.info("alerts of earlier incidents could not be read: %s: %s", type(error).__name__, error)
            return
        await self._heard(firing(one) for one in alerts if one.fingerprint in known)

    def named(self, robot: str, states: Collection[State]) -> None:
        """The chat has these."""
        if states and robot in self._talks:
            self._talks[robot] = heard(self._talks[robot], states, time.time())

    def _messages(self, robot: str) -> dict[str, Message]:
        """What is said of incidents in the digest on its way, by id; a failover robot says it for another."""
        talks = [*filter(None, [self._talks.get(robot)]), *self._talks.values()]
        return {ident: one for talk in reversed(talks) for ident, one in talk.messages.items()}

    async def _speak(self) -> None:
        """Say what no call brings: another cause, or that it goes back."""
        say, now = self._say, time.time()
        if say is None or not self._manner.policy.update_seconds:
            return
        for robot, talk in tuple(self._talks.items()):
            for message in unasked(talk, self.incidents, now, self._manner):
                ident = message.incident.id
                self._talks[robot] = replace(self._talks[robot], asked=talk.asked | {ident})
                await say(robot, tuple(one.alert for one in message.going_on))

    async def _joined(self, alerts: Sequence[Alert]) -> Step:
        """The step with these; what was heard is joined also where no one waits for it."""
        if self._step and self._sifted.issuperset(one.state for one in alerts):
            return self._step
        task = asyncio.create_task(self._heard(alerts))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return await asyncio.shield(task)

    async def above(self, alerts: Sequence[Alert], robot: Robot) -> Sequence[Said]:
        """The causes of the incidents that these alerts belong to, as far as they are known in time."""
        step = await self._joined(alerts)
        firing = {alert.fingerprint for alert in alerts if alert.firing}
        asks = [one for one in _of(step.incidents, firing) if one.cause is None or self._newer(one)]
        about = {alert.fingerprint for alert in alerts}
        ended = [one for one in _of(step.incidents, about) if one.ended is not None]
        due = [one for one in ended if one.id not in self.bills][:_MOST_BILLS]
        adding = asyncio.create_task(self._add_up(due)) if due else None
        if asks and self._may_look():
            # A look that takes longer goes on, and its result is in the next message.
            await asyncio.wait({self._begin_look()}, timeout=_PATIENCE_SECONDS)
        if adding:
            # Beside the look, not after it: a message waits for both.
            await adding
        incidents = _of(self.incidents, about)
        stale = frozenset(one.id for one in incidents if self._newer(one, by=_PAUSE_SECONDS))
        self._talks = {name: telling(talk, incidents, stale) for name, talk in self._talks.items()}
        bills, plan, news = self.bills, self.plan, self._messages(robot.name)
        # Time zones are files.
        return await self._join_threads.run(
            lambda: said(incidents, bills, plan, robot, news=news, stale=stale, running_since=self._began),
            seconds=_JOIN_SECONDS,
        )

    def _newer(self, one: Incident, by: float = 0.0) -> bool:
        """Whether an alert of it began after the last look: what that found need not explain it.

        An alert tells late what it is about: the look may be older than the alert, `by` so many seconds.
        """
        return any(alert.firing and alert.latest > self._judged_at + by for alert in one.alerts)

    async def _add_up(self, ended: Sequence[Incident]) -> None:
        """What these, which ended, cost, where Prometheus says it in time."""
        asked, plan, fleet, now = self._asked, self.plan, self._fleet, time.time()
        # Prometheus would answer with what models of the same names cost here.
        own = [one for one in ended if any(fleet.has(alert.where.cluster) for alert in one.alerts)]

        def read() -> dict[tuple[str, float | None], Cost]:
            return {
                (one.id, one.ended): bill(
                    asked.prometheus, plan, one, fleet, now, alertmanager=asked.alertmanager
                )
                for one in own
            }

        try:
            found = await self._bill_threads.run(read, seconds=_PATIENCE_SECONDS)
        except Exception as error:  # noqa: BLE001 (messages do without)
            _log.info("the impact could not be read: %s: %s", type(error).__name__, error)
            return
        self._bills = dict([*self._bills.items(), *found.items()][-_MOST_KEPT_BILLS:])

    async def _round(self) -> None:
        """Look again while an incident lasts, and keep what changed; incidents end without a call, too."""
        await asyncio.sleep(_ROUND_SECONDS)
        if not self._leads() and self._state.alerts:
            # Their ends come to another process from now on.
            self._state, self._step, self._talks = Known(), None, {}
            self._began = time.time()
            self.series.show(())
        if self._folder and not self._state.alerts:
            # Also again and again: the process that delivers meanwhile may be another one.
            entries, now = await self._folder.changed(), time.time()
            if entries and not self._state.alerts:
                self._state, self._talks = recorder.resumed(entries, now), chats.resumed(entries, now)
        # What was kept waits for its alerts to be heard again: without one, an incident would be over. No
        # call reports those that Alertmanager mutes.
        since = time.monotonic() - self._recalled_at
        if self._state.open and not self._state.alerts and self._leads() and since >= _LIST_AGAIN_SECONDS:
            self._recalled_at = time.monotonic()
            await self._recall()
        if not self._state.alerts:
            return
        await self._heard(())
        if self._state.open and self._may_look() and self._wants_look():
            await self._begin_look()
        if self._speaking is None or self._speaking.done():
            self._speaking = asyncio.create_task(self._speak())
        if self._may_read():
            self._read_at = time.monotonic()
            self._reading = asyncio.create_task(self._read_ends())
        if self._folder:
            told = {one.id: chats.kept(self._talks, one) for one in self.incidents}
            await self._folder.keep(self.incidents, self.bills, self._looked, told, time.time())

    def _may_read(self) -> bool:
        """Whether to read what Alertmanager lists: something fires, and is new or was read a while ago."""
        under_way = self._reading is not None and not self._reading.done()
        if under_way or not any(one.firing for one in self._state.alerts.values()):
            return False
        wait = _PAUSE_SECONDS if self._heard_at > self._read_at else _LIST_AGAIN_SECONDS
        return time.monotonic() - self._read_at >= wait

    async def _read_ends(self) -> None:
        """Hear of ends that no call reports. Without Alertmanager's answer nothing has ended."""
        asked, known = self._asked, self._state.alerts
        try:
            listed = await self._list_threads.run(lambda: ends.ask(asked.alertmanager), seconds=_LIST_SECONDS)
        except Exception as error:  # noqa: BLE001 (ends are reported by calls, too)
            _log.info("Alertmanager's alerts could not be listed: %s: %s", type(error).__name__, error)
            return
        self._listing = self._listing.read(
            listed, time.time(), {key for key, one in known.items() if one.firing}
        )
        over = [ended(known[key].alert, at) for key, at in self._listing.over.items()]
        if over:
            step = await self._heard(over)
            # No message will ask what it cost.
            silent = _of(step.incidents, {one.fingerprint for one in over})
            await self._add_up([one for one in silent if one.ended is not None][:_MOST_BILLS])

    def _may_look(self) -> bool:
        if self._judge is None or not self.plan.incidents.triage:
            return False
        under_way = self._look is not None and not self._look.done()
        return under_way or time.monotonic() - self._began_at >= _PAUSE_SECONDS

    def _wants_look(self) -> bool:
        """Whether a look may find more than the last one: there is news, or something began lately."""
        now, since = time.time(), time.monotonic() - self._began_at
        young = any(one.ended is None and now < one.opened + _YOUNG_SECONDS for one in self.incidents)
        return young or self._heard_at > self._began_at or since > _LOOK_AGAIN_SECONDS

    def _begin_look(self) -> asyncio.Task[None]:
        """The look under way, or a new one."""
        if self._look is None or self._look.done():
            self._began_at = time.monotonic()
            self._look = asyncio.create_task(self._find_cause())
        return self._look

    async def _find_cause(self) -> None:
        assert self._judge is not None  # noqa: S101 (`_may_look`)
        asked, judge = self._asked, self._judge
        now = time.time()
        incidents = self.incidents

        def look() -> Any:  # noqa: ANN401 (what the answer gives)
            span = _span(incidents, now, _active(asked.prometheus))
            return judge(
                asked.prometheus,
                asked.replicas,
                incident=span,
                called=asked.called,
                # Few errors in a hundred need some minutes until their alert fires.
                reach_seconds=NEAR_SECONDS,
            )

        try:
            self._looked = await self._look_threads.run(look, seconds=_LOOK_SECONDS)
            await self._heard((), self._looked.verdict)
            self._judged_at = now
        except Exception as error:  # noqa: BLE001 (messages do without)
            _log.info("triage did not finish: %s: %s", type(error).__name__, error)

    async def _heard(self, alerts: Iterable[Alert], verdict: Any = None) -> Step:  # noqa: ANN401 (as above)
        """Join these alerts and this verdict to what is known."""
        news = tuple(alerts)
        if news:
            self._heard_at = time.monotonic()
        async with self._joining:
            state, fleet, now = self._state, self._fleet, time.time()
            step = await self._join_threads.run(
                lambda: join(state, now, news, fleet, verdict), seconds=_JOIN_SECONDS
            )
            self._state, self._step = step.state, step
            self.series.show(step.incidents)
        if self._folder:
            self._folder.note(step.changes)
        return step


def _span(
    incidents: Iterable[Incident], now: float, active: Sequence[tuple[float, FiringAlert]] = ()
) -> Span:
    """What a look compares with the time before it.

    What is over must not explain what began after it, so the span begins with what still fires. But an alert
    may have waited for ten minutes until it fired, and what explains an incident must not slip out of the
    span while it lasts.
    """
    goes_on = [one for one in incidents if one.ended is None and not one.closed]
    alerts = [alert for one in goes_on for alert in one.alerts if alert.firing]
    fired = min((alert.latest for alert in alerts), default=now)
    earlier = [one.cause.since for one in goes_on if one.cause and one.cause.since is not None]
    earlier += _waited(active, [one.alert for one in alerts])
    began = min([fired, *(since for since in earlier if since >= fired - NEAR_SECONDS)])
    start = min(began - _LEAD_SECONDS, now - _SHORTEST_SECONDS)
    return Span(start=max(now - _LONGEST_SECONDS, start), end=now)


def _active(prometheus: PrometheusClient) -> list[tuple[float, FiringAlert]]:
    """Since when the expression of each alert has held, where Prometheus says so."""
    try:
        alerts = prometheus.alerts()
    except ClientError as error:
        _log.info("pending alerts could not be read: %s", error)
        return []
    found = []
    for one in alerts:
        with contextlib.suppress(ValueError):
            found.append((parse_moment(one.active_at).timestamp(), one))
    return found


def _waited(active: Iterable[tuple[float, FiringAlert]], alerts: Iterable[Alert]) -> Iterator[float]:
    """Since when those have waited that Prometheus sent; Alertmanager may have got further labels with it."""
    known = defaultdict(list)
    for alert in alerts:
        known[_about(alert.labels)].append(alert.labels.items())
    for since, one in active:
        # Only alerts about the same thing are compared: of 3,000 alerts, each with each takes seconds.
        if one.labels and any(one.labels.items() <= labels for labels in known[_about(one.labels)]):
            yield since


def _about(labels: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(labels.get(name, "") for name in (ALERTNAME, names.MODEL, names.VERSION, names.REPLICA))


def _clients(plan: Plan) -> _Asked:
    return _Asked(
        prometheus=prometheus_of(plan, timeout_seconds=_LOOK_SECONDS),
        alertmanager=AlertmanagerClient(plan.addresses.alertmanager_url),
        replicas=tuple(
            TritonClient(replica.http_url, timeout_seconds=_SERVER_SECONDS, retries=0)
            for replica in plan.replicas
        ),
        called=names_by_address(plan.replicas),
    )


def _of(incidents: Iterable[Incident], keys: set[str]) -> tuple[Incident, ...]:
    """Those that have one of these alerts."""
    return tuple(one for one in incidents if one.keys & keys)
