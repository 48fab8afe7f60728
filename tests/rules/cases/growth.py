"""What growth is foreseen to exceed a limit: a thousandth within and beyond each condition."""

from math import sqrt

from support.case import Case, Check, fires, silent
from support.simulate import World, series_name

WILL = "TritonQpsWillExceedLimit"
HELD, OWNER = "subject:tritonobs_qps_limit:held", "subject:tritonobs_owner:info"
TOLD = "model_version:tritonobs_limit_of_model:info"
# With scrapes minutes apart the shortest window is the longest there is.
SHORT, QUICK, SLOW = (f"subject:triton_requests_offered:{of}" for of in ("rate4m", "mean5m", "mean15m"))
HOUR, DAY, WEEK = 60, 1440, 10080
BARELY = 1.001
# How long it grew, what shows it, and over how many seconds that is a mean.
SPANS = ((15, QUICK, 300), (30, QUICK, 300), (45, SLOW, 900))
EVENLY = (1 / 3, 1 / 3, 1 / 3)


def case(says, growths):
    """The alert alone, with all that it reads given."""
    return Case(
        says=says,
        world=growths.world,
        rules=(WILL,),
        given=(HELD, OWNER, TOLD, SHORT, QUICK, SLOW),
        checks=(growths.check(),),
    )


class Growths:
    """Subjects that have a limit from now on, and are offered what they were at some minutes before."""

    def __init__(self, now, step):
        self.now, self.step = now, step
        self.world = World(minutes=now, scrape_seconds=60 * step)
        self.foreseen = {}

    def put(self, record, before, labels):
        """A record that is known at these minutes before now, and at no other time."""
        at = {self.now - minutes: value for minutes, value in before.items()}
        self.world.gauge(
            record,
            [(minute + self.step, at.get(minute)) for minute in range(0, self.now + 1, self.step)],
            **labels,
        )

    def add(
        self,
        model,
        span,
        *,
        limit,
        now,
        gain,
        foreseen,
        thirds=EVENLY,
        lately=0,
        late=1.0,
        past=None,
        yesterday=True,
        **labels,
    ):
        """A subject that gained `gain` within the span, in these parts of it, the latest first.

        What shows five minutes gained the share `late` of it within the last quarter of an hour.
        """
        minutes, record, _ = span
        third = minutes // 3
        values = {0: now, third: now - gain * thirds[0], 2 * third: now - gain * (thirds[0] + thirds[1])}
        labels = {"model": model, **labels}
        # Something is known of yesterday.
        known = {DAY: 1.0} if yesterday else {}
        self.put(record, {**known, **values, minutes: now - gain, **(past or {})}, labels)
        quick = (QUICK, {0: now, 15: now - gain * late})
        self.put(*(quick if record == SLOW else (SLOW, known)), labels)
        self.put(SHORT, {0: lately}, labels)
        self.put(HELD, {0: limit}, labels)
        self.world.gauge(OWNER, 1, **labels, team="vision")
        if foreseen:
            own = {"alertname": WILL, "alertstate": "pending", "severity": "warning", "team": "vision"}
            self.foreseen[series_name("ALERTS", own | labels)] = 1

    def check(self):
        """Just those that are foreseen begin to wait."""
        return Check(expr=f'ALERTS{{alertname="{WILL}"}}', minute=self.now, samples=self.foreseen)


def waits():
    """Steady growth of which a quarter of an hour is known at minute 15; the limit is taken back at 25."""
    row, owned = {"model": "nms"}, {"model": "nms", "team": "vision"}
    steady = [((step + 1) / 4, 30 + step / 2) for step in range(140)]
    world = World(minutes=34).gauge(QUICK, steady, **row).gauge(OWNER, 1, **owned)
    return Case(
        says="growth is foreseen when it lasted four minutes, and five minutes after it ended",
        world=world.gauge(HELD, [(25, 100), (99, None)], **row),
        rules=(WILL,),
        given=(HELD, OWNER, TOLD, "subject:triton_requests_offered:rate1m", QUICK, SLOW),
        checks=(
            silent(WILL, 18.75),
            *(fires(WILL, minute, severity="warning", **owned) for minute in (19, 25, 29.75)),
            silent(WILL, 34, since=30),
        ),
    )


def conditions():
    """Of each span of growth: every condition, met barely and barely not."""
    all_of = Growths(DAY + HOUR, 5)
    for span in SPANS:
        minutes, _, age = span
        for over, by in ((True, BARELY), (False, 1 / BARELY)):
            what = f"{minutes} minutes, {'over' if over else 'under'}"
            # In an hour from now, counted from the middle of a mean, it gains so many times as much.
            times = (3600 + age / 2) / (60 * minutes)
            all_of.add(
                f"{what} the limit", span, limit=100, now=60, gain=(100 * by - 60) / times, foreseen=over
            )
            sooner = (0.4 * 3600 + age / 2) / (60 * minutes)
            all_of.add(
                f"{what} the limit, without a yesterday",
                span, limit=100, now=60, gain=(100 * by - 60) / sooner, foreseen=over, yesterday=False,
            )  # fmt: skip
            chance = 4 * sqrt(2 * 2 / age)
            all_of.add(f"{what} chance", span, limit=2, now=1.9, gain=chance * by, foreseen=over)
            for third in range(3):
                part = by / 6
                thirds = [part if third == one else (1 - part) / 2 for one in range(3)]
                all_of.add(
                    f"{what} half a third's share in third {third}",
                    span, limit=100, now=60, gain=30, thirds=thirds, foreseen=over,
                )  # fmt: skip
            all_of.add(f"{what} half the limit", span, limit=100, now=50 * by, gain=40, foreseen=over)
            if span[1] == SLOW:
                all_of.add(
                    f"{what} half a third's share in the last quarter of an hour",
                    span, limit=100, now=60, gain=30, late=by / 6, foreseen=over,
                )  # fmt: skip
        all_of.add(f"{minutes} minutes, at it", span, limit=100, now=60, gain=30, lately=100, foreseen=True)
        all_of.add(
            f"{minutes} minutes, past it", span, limit=100, now=60, gain=30, lately=100.1, foreseen=False
        )
        told = {"model": f"{minutes} minutes, of the model", "version": "1"}
        all_of.add(told["model"], span, limit=100, now=60, gain=30, foreseen=False, version="1")
        all_of.world.gauge(TOLD, 1, **told)
    return all_of


def explained(name, ago):
    """Growth of 30 to 60 of a limit of 100, and what it was 45 minutes before this time on another day."""
    all_of = Growths(ago + HOUR, 15)

    def earlier(before, then, half_an_hour, an_hour):
        return {ago + 45: before, ago: then, ago - 30: half_an_hour, ago - 60: an_hour}

    for says, foreseen, past in (
        ("as much, the half of it is enough", False, earlier(14.9, 30, 49.9, 49.9)),
        ("a little less than half", True, earlier(15.1, 30, 49.9, 49.9)),
        ("as much, and half an hour later too much for today", True, earlier(14.9, 30, 50.1, 49.9)),
        ("as much, and an hour later too much for today", True, earlier(14.9, 30, 49.9, 50.1)),
    ):
        all_of.add(f"{name} ago {says}", SPANS[2], limit=100, now=60, gain=30, foreseen=foreseen, past=past)
    few = earlier(0.12, 0.25, 0.25, 0.25)
    grown = {"limit": 1, "now": 0.75, "gain": 0.25}
    all_of.add(f"{name} ago as much, of few", SPANS[2], **grown, foreseen=False, past=few)
    all_of.add(f"nothing {name} ago", SPANS[2], **grown, foreseen=True)
    return case(f"growth that was there {name} ago is not foreseen if the hour after it fits today", all_of)


CASES = (
    case("growth is foreseen when all holds: beyond the limit, no chance, in every third", conditions()),
    waits(),
    explained("a day", DAY),
    explained("a week", WEEK),
)
