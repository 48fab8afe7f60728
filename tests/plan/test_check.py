"""Fleet files whose fields are well-formed and whose meaning is not."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tritonobs.errors import SpecInvalid
from tritonobs.plan.build import check
from tritonobs.plan.fleet import Plan
from tritonobs.spec.load import read_text

NOT_READ = "250ms is not one of rules.latency_thresholds; allowed are 100ms and 1s"
CASES = [
    pytest.param(
        "models: {a: {pipeline: bls, calls: {b: 1, detect: {model: detectr}}}, detector: {}}",
        [
            (
                "ERROR fleet.yaml:3:37: models.a.calls.b: "
                'calls "b", which is not a model of this fleet; models are a and detector'
            ),
            (
                "ERROR fleet.yaml:3:59: models.a.calls.detect.model: "
                'calls "detectr", which is not a model of this fleet; models '
                "are a and detector (did you mean detector?)"
            ),
        ],
        id="calls to models that are not there",
    ),
    pytest.param(
        """\
        models:
          a: {pipeline: bls, calls: {b: 1}}
          b: {pipeline: ensemble, calls: {c: 2}}
          c: {pipeline: bls, calls: {a: 1}}
        """,
        ["ERROR fleet.yaml:4:22: models.a.calls: models call each other in a circle: a → b → c → a"],
        id="a circle of calls",
    ),
    pytest.param(
        "models: {a: {pipeline: bls, calls: {a: 1}}}",
        ["ERROR fleet.yaml:3:29: models.a.calls: models call each other in a circle: a → a"],
        id="a model that calls itself",
    ),
    pytest.param(
        "models: {a: {pipeline: bls}, b: {calls: {c: 1}}, c: {}}",
        [
            (
                "ERROR fleet.yaml:3:24: models.a.pipeline: "
                "has no calls; write what the pipeline calls under `calls`"
            ),
            "ERROR fleet.yaml:3:34: models.b.calls: needs `pipeline`; allowed are bls and ensemble",
        ],
        id="half a pipeline",
    ),
    pytest.param(
        "models: {a: {slos: {latency: {objective: 99%, threshold: 220ms}}}}",
        [
            (
                "ERROR fleet.yaml:3:58: models.a.slos.latency.threshold: "
                "220ms is not a latency bound of a; the nearest are 200ms and 250ms"
            )
        ],
        id="a threshold between two bounds names both",
    ),
    pytest.param(
        "models: {a: {slos: {fast: {objective: 99%, threshold: 250ms, invalid: bad}}}}",
        [
            (
                "ERROR fleet.yaml:3:71: models.a.slos.fast.invalid: "
                "latency never counts invalid requests; only availability can charge them"
            )
        ],
        id="latency that charges the caller's fault",
    ),
    pytest.param(
        """\
        rules: {latency_thresholds: [100ms, 1s]}
        models: {a: {slos: {fast: {objective: 99%, threshold: 250ms}, slow: {objective: 99%, threshold: 1s},
          traced: {objective: 99%, threshold: 250ms, source: traces}}}}
        """,
        [f"ERROR fleet.yaml:4:55: models.a.slos.fast.threshold: {NOT_READ}"],
        id="a threshold that the rules do not read",
    ),
    pytest.param(
        "models: {a: {latency_buckets: [0.05ms, 1ms, 2ms], slos: {fast: {objective: 99%, threshold: 30s}}}}",
        [
            (
                "ERROR fleet.yaml:3:92: models.a.slos.fast.threshold: "
                "30s is not a latency bound of a; the nearest are 1ms and 2ms"
            )
        ],
        id="a threshold above every bound names the highest two",
    ),
    pytest.param(
        """\
        defaults: {slos: {latency: {objective: 99%, threshold: 350ms}}}
        models: {a: {}, b: {versions: {1: {}, 2: {}}}, c: {latency_buckets: [350ms, 400ms]}}
        """,
        [
            (
                "ERROR fleet.yaml:3:56: defaults.slos.latency.threshold: "
                "350ms is not a latency bound of a and b; the nearest are 300ms and 400ms"
            )
        ],
        id="an inherited threshold is told once, with the models it does not fit",
    ),
    pytest.param(
        "models: {a: {latency_buckets: [10ms, 5ms, 5ms], versions: {2: {latency_buckets: [2s, 1s]}}}}",
        [
            "ERROR fleet.yaml:3:38: models.a.latency_buckets[1]: 5ms is not above the bound before it, 10ms",
            "ERROR fleet.yaml:3:43: models.a.latency_buckets[2]: 5ms is not above the bound before it, 5ms",
            (
                "ERROR fleet.yaml:3:86: models.a.versions.2.latency_buckets[1]: "
                "1s is not above the bound before it, 2s"
            ),
        ],
        id="bounds out of order",
    ),
    pytest.param(
        """\
        models:
          a:
            latency_buckets: [100ms, 200ms]
            slos: {latency: {objective: 99%, threshold: 200ms}}
            versions: {1: {}, 2: {latency_buckets: [0.05ms, 150ms]}}
        """,
        [
            (
                "ERROR fleet.yaml:6:49: models.a.slos.latency.threshold: "
                "200ms is not a latency bound of a; the nearest are 0.05ms and 150ms"
            )
        ],
        id="an inherited threshold that a version with buckets of its own cannot count",
    ),
    pytest.param(
        "models: {a: {slos: {latency: {threshold: 250ms}, odd: {objective: 99%, stage: nms}}}}",
        [
            (
                "ERROR fleet.yaml:3:21: models.a.slos.latency: "
                "has no objective, neither here nor inherited; write one like 99.9%"
            ),
            (
                "ERROR fleet.yaml:3:79: models.a.slos.odd.stage: "
                "times a stage but has no threshold; write one like 250ms"
            ),
        ],
        id="half an SLO",
    ),
    pytest.param(
        "models: {e: {pipeline: ensemble, calls: {a: 1}, slos: {p: {objective: 99%, threshold: 1s}}}, a: {}}",
        [
            (
                "ERROR fleet.yaml:3:87: models.e.slos.p.threshold: "
                "an ensemble has no code that times its requests; "
                "write source: traces, or a latency SLO for members or a BLS pipeline"
            )
        ],
        id="latency of an ensemble",
    ),
    pytest.param(
        """\
        models:
          e: {pipeline: ensemble, calls: {a: 1}, versions: {2: {qps_limit: 5}, 3: {}}}
          a: {}
        """,
        [
            (
                "ERROR fleet.yaml:4:57: models.e.versions.2.qps_limit: "
                "Triton counts all versions of an ensemble under version 1, "
                "so 2 and 3 cannot be distinguished; write it for the model"
            )
        ],
        id="versions of an ensemble that cannot be told apart",
    ),
    pytest.param(
        """\
        models:
          e: {pipeline: ensemble, calls: {a: 1}, versions: {2: {tokens_per_second_limit: {tokens_in: 5}},3: }}
          a: {}
        """,
        [
            (
                "ERROR fleet.yaml:4:57: models.e.versions.2.tokens_per_second_limit: "
                "Triton counts all versions of an ensemble under version 1, "
                "so 2 and 3 cannot be distinguished; write it for the model"
            )
        ],
        id="tokens of versions of an ensemble that cannot be told apart",
    ),
    pytest.param(
        """\
        models:
          a:
            scheduled_limits:
              - {qps_limit: 1, valid_until: 2026-11-11T00:00Z}
              - {qps_limit: 2, valid_from: 2026-11-11T00:00Z, valid_until: 2026-11-12T00:00Z}
              - {qps_limit: 3, valid_from: 2026-11-11T12:00Z}
        """,
        [
            (
                "ERROR fleet.yaml:8:9: models.a.scheduled_limits[2]: "
                "is in force at the same time as scheduled_limits[1]; only one limit can be in force"
            )
        ],
        id="two limits at one time",
    ),
    pytest.param(
        """\
        models: {a: {}}
        slo_period: 36h
        prometheus: {scrape_interval: 5m, evaluation_interval: 100ms, retention: 90m}
        """,
        [
            "ERROR fleet.yaml:4:13: slo_period: found 1d12h; allowed are whole days from 7d to 90d",
            (
                "ERROR fleet.yaml:5:31: prometheus.scrape_interval: found 5m; allowed is 1s to 1m "
                "(to Prometheus a series is gone after 5m without a sample)"
            ),
            (
                "ERROR fleet.yaml:5:56: prometheus.evaluation_interval: found 100ms; allowed is 1s to 1m "
                "(to Prometheus a series is gone after 5m without a sample)"
            ),
            "ERROR fleet.yaml:5:74: prometheus.retention: found 1h30m; allowed are whole days, like 180d",
        ],
        id="times out of range",
    ),
    pytest.param(
        "models: {a: {}}\nprometheus: {scrape_interval: 15s, evaluation_interval: 5s}",
        [
            (
                "WARNING fleet.yaml:4:57: prometheus.evaluation_interval: "
                "5s is shorter than scrape_interval; rules are evaluated every 15s"
            )
        ],
        id="rules more often than scrapes",
    ),
    pytest.param(
        "models: {a: {}}\nprometheus: {retention: 15d}",
        [
            (
                "ERROR fleet.yaml:4:25: prometheus.retention: 15d is shorter than slo_period (30d) "
                "(Prometheus would forget part of the error budget)"
            )
        ],
        id="a memory shorter than the promise",
    ),
    pytest.param(
        "models: {a: {}}\ncluster: $HOME",
        [
            (
                "ERROR fleet.yaml:4:10: cluster: "
                'found "$HOME"; allowed is text without $, which Prometheus would take for a variable'
            )
        ],
        id="a cluster that Prometheus would expand",
    ),
    pytest.param(
        "models: {a: {qps_limit: 5, versions: {1: {qps_limit: 9}, 2: {qps_limit: unlimited}}}}",
        [
            (
                "WARNING fleet.yaml:3:54: models.a.versions.1.qps_limit: "
                "9 is above the limit of the whole model (5), which is reached first"
            )
        ],
        id="a version above its model",
    ),
    pytest.param(
        "models: {a: {qps_limit: 5, versions: {1: {qps_limit: 9}}}}\nprometheus: {retention: 15d}",
        [
            (
                "WARNING fleet.yaml:3:54: models.a.versions.1.qps_limit: "
                "9 is above the limit of the whole model (5), which is reached first"
            ),
            (
                "ERROR fleet.yaml:4:25: prometheus.retention: 15d is shorter than slo_period (30d) "
                "(Prometheus would forget part of the error budget)"
            ),
        ],
        id="limits beside an error elsewhere",
    ),
    pytest.param(
        "models: {p: {pipeline: bls, calls: {a: 3}, qps_limit: 20}, a: {qps_limit: 30}}",
        [
            (
                "WARNING fleet.yaml:3:55: models.p.qps_limit: 20 is more than the pipeline's members allow: "
                "capped by a (30 / 3) (10 is in force)"
            )
        ],
        id="a pipeline above its members",
    ),
]


@pytest.mark.parametrize(("text", "complaints"), CASES)
def test_nonsense_is_accepted_at_its_place(
    complaints_of: Callable[[str], list[str]], text: str, complaints: list[str]
) -> None:
    """Each finding word for word, in the order of the file, and nothing else."""
    assert complaints_of(text) == complaints


def test_replicas_that_are_the_same_are_told() -> None:
    """A server scraped twice would count every request twice."""
    text = """\
fleet: shop
replicas:
  - {name: a, url: "http://10.0.0.1:8000"}
  - {name: b, url: "http://10.0.0.2:8000", metrics_url: "http://10.0.0.1:8002/metrics"}
  - {name: a, url: "http://10.0.0.2:8000"}
models: {m: {}}
"""
    spec = read_text(text, "fleet.yaml").spec
    assert spec is not None

    assert [str(finding) for finding in check(spec)] == [
        "fleet.yaml:4:57: replicas[1].metrics_url: is the same as that of replicas[0] (line 3)",
        "fleet.yaml:5:12: replicas[2].name: is the same as that of replicas[0] (line 3)",
        "fleet.yaml:5:20: replicas[2].url: is the same as that of replicas[1] (line 4)",
    ]


def test_errors_stop_a_plan_and_warnings_do_not(plan_of: Callable[[str], Plan]) -> None:
    """A plan is made of what can be meant."""
    with pytest.raises(SpecInvalid, match="circle"):
        plan_of("models: {a: {pipeline: bls, calls: {a: 1}}}")

    assert plan_of("models: {a: {qps_limit: 5, versions: {1: {qps_limit: 9}}}}").limits


LINKS = [
    pytest.param(
        """\
        addresses:
          serve: http://serve:9900
          prometheus: http://prometheus.monitoring.svc:9090
          alertmanager: http://10.0.0.7:9093
          public: {}
        models: {a: {}}
        """,
        [],
        id="every link is the address inside, which says nothing of a difference",
    ),
    pytest.param(
        """\
        addresses:
          serve: http://serve:9900
          prometheus: http://prometheus.monitoring.svc:9090
          alertmanager: http://10.0.0.7:9093
          grafana: http://127.0.0.1:3000
          public: {alertmanager: "https://obs.shop/alerts"}
        models: {a: {}}
        """,
        [
            (
                "WARNING fleet.yaml:8:3: addresses.public: has no prometheus: links in messages lead to "
                '"http://prometheus.monitoring.svc:9090" '
                "(a browser outside the containers' network may not know that host)"
            ),
            (
                "WARNING fleet.yaml:8:3: addresses.public: has no serve: "
                'links in messages lead to "http://serve:9900" '
                "(a browser outside the containers' network may not know that host)"
            ),
        ],
        id="links that only containers can follow",
    ),
    pytest.param(
        """\
        addresses:
          serve: http://10.0.0.7:9900
          prometheus: http://prometheus.shop.com:9090
          public: {alertmanager: "https://obs.shop/alerts"}
        models: {a: {}}
        """,
        [],
        id="links that a browser may follow",
    ),
]


@pytest.mark.parametrize(("text", "complaints"), LINKS)
def test_a_link_only_containers_can_follow_is_warned_about(
    complaints_of: Callable[[str], list[str]], text: str, complaints: list[str]
) -> None:
    """Where the file knows that addresses inside differ from those for people."""
    assert complaints_of(text) == complaints


HEAD = 'fleet: shop\nreplicas: [{name: a, url: "http://10.0.0.1:8000"}]\n'
FIELDS = [
    ("{pipeline: blss, calls: {b: 1}}", "pipeline"),
    ("{pipeline: , calls: {b: 1}}", "pipeline"),
    ("{pipeline: bls, calls: {b: one}}", "calls.b"),
    ("{pipeline: bls, calls: 7}", "calls"),
    ("{pipeline: bls, calls: }", "calls"),
    ("{slos: {up: {objective: 42%}}}", "slos.up.objective"),
    ("{slos: {up: {objective: }}}", "slos.up.objective"),
    ("{slos: {up: {objective: 99%, stage: decode, threshold: soon}}}", "slos.up.threshold"),
    ("{slos: {up: {objective: 99%, source: traces, threshold: soon}}}", "slos.up.threshold"),
]
MISSING = [
    ("{pipeline: bls}", "pipeline", "has no calls"),
    ("{pipeline: bls, calls: {}}", "pipeline", "has no calls"),
    ("{calls: {b: 1}}", "calls", "needs `pipeline`"),
    ("{slos: {up: {}}}", "slos.up", "has no objective"),
    ("{slos: {up: {objective: 99%, stage: decode}}}", "slos.up.stage", "has no threshold"),
    ("{slos: {up: {objective: 99%, source: traces}}}", "slos.up", "no threshold"),
]


def _found(model: str) -> list[tuple[str, str]]:
    """The field and the message of every finding about a model."""
    reading = read_text(f"{HEAD}models:\n  a: {model}\n  b: {{}}\n", "fleet.yaml")
    assert reading.spec is not None
    findings = (*reading.findings, *check(reading.spec))
    return [(finding.path.removeprefix("models.a."), finding.message) for finding in findings]


@pytest.mark.parametrize(("model", "field"), FIELDS)
def test_a_refused_value_is_reported_once(model: str, field: str) -> None:
    """The finding names the value that was found."""
    ((at, message),) = _found(model)

    assert at == field
    assert message.startswith("found ")


@pytest.mark.parametrize(("model", "field", "says"), MISSING)
def test_a_missing_value_is_reported(model: str, field: str, says: str) -> None:
    """The twin: without any value the finding says what is missing."""
    ((at, message),) = _found(model)

    assert at == field
    assert says in message


def test_a_free_mapping_names_no_fields() -> None:
    """Where the author chooses the names, there are none to list."""
    assert _found("{versions: 7}") == [("versions", 'found "7"; allowed is a mapping')]
