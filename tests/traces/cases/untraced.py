"""What traces stand for, compared with what Triton counted: batches lost on their way, and chance."""

from support.case import Case, absent, fires, near, silent
from support.simulate import World

LOST = "TritonobsTracesIncomplete"
SHARE = "replica_model:tritonobs_requests_traced:ratio1h"
JOB = {"job": "tritonobs-traces", "instance": "serve:9900"}
OWN = {"model": "m", "version": "1", "replica": "triton-1"}
WHERE = {"model": "m", "replica": "triton-1"}
SAID = {**WHERE, "severity": "warning"}


def world(traced, *, qps=5, rate=1, minutes=130, failures=None, spans=10, rates=None, **more):
    """A model that is traced: `traced` are the requests a second that its traces stand for."""
    made = World(minutes=minutes, **more).triton("m", qps=qps, failures=failures).info("m")
    made.counter("tritonobs_trace_requests_total", traced, **JOB, **OWN, outcome="ok")
    made.counter("tritonobs_trace_spans_total", spans, **JOB)
    made.gauge("tritonobs_trace_rate", rate if rates is None else rates, **JOB, **WHERE)
    return made.outage("triton-1")


CASES = (
    Case(
        says="batches that are lost on their way are said from one in a hundred on",
        world=world(4.88),
        rules=(LOST, SHARE),
        checks=(fires(LOST, 110, **SAID), near(SHARE, 110, WHERE, 0.976, tolerance=0.002)),
    ),
    Case(
        says="fewer are not",
        world=world(4.97),
        rules=(LOST,),
        checks=(silent(LOST, 110), silent(LOST, 130)),
    ),
    Case(
        says="all that are traced are all",
        world=world(5),
        rules=(LOST, SHARE),
        checks=(silent(LOST, 30), silent(LOST, 130), near(SHARE, 120, WHERE, 1, tolerance=0.001)),
    ),
    Case(
        says="requests that the model failed are traced, too",
        world=world(4.88, qps=2.5, failures={"BACKEND": 2.5}),
        rules=(LOST,),
        checks=(fires(LOST, 110, **SAID),),
    ),
    Case(
        says="what a full queue refused is not missed",
        world=world(5, qps=5, failures={"REJECTED": 3, "CANCELED": 1, "OTHER": 2}),
        rules=(LOST,),
        checks=(silent(LOST, 110),),
    ),
    Case(
        says="a sample of one in a hundred may be short by chance",
        world=world(4.7, rate=100),
        rules=(LOST,),
        checks=(silent(LOST, 110),),
    ),
    Case(
        says="a sample that lost a half is not chance",
        world=world(2.5, rate=100),
        rules=(LOST,),
        checks=(fires(LOST, 110, **SAID),),
    ),
    Case(
        says="a server that says it traces and whose traces all are lost",
        world=world([(60, 5), (999, 0)]),
        rules=(LOST,),
        checks=(silent(LOST, 59), fires(LOST, 80, **SAID)),
    ),
    Case(
        says="a model whose tracing was turned off is not missed",
        world=world([(60, 5), (999, 0)], rates=[(60, 1), (999, 0)]),
        rules=(LOST,),
        checks=(silent(LOST, 75), silent(LOST, 130)),
    ),
    Case(
        says="nor one that was never traced, nor what a pipeline calls, for which no rate is shown",
        world=world(2, rates=[(999, None)]),
        rules=(LOST, SHARE),
        checks=(silent(LOST, 130), absent(SHARE, 130)),
    ),
    Case(
        says="a receiver that starts again has missed what came meanwhile, and no more",
        world=world(
            [(60, 5), (61, None), (999, 5)],
            spans=[(60, 10), (61, None), (999, 10)],
            rates=[(60, 1), (61, None), (999, 1)],
        ),
        rules=(LOST,),
        checks=(silent(LOST, 65), silent(LOST, 75), silent(LOST, 130)),
    ),
    Case(
        says="a server that starts again loses its last seconds alone",
        world=world([(60, 5), (999, 5)], qps=[(60, 5), (61, None), (999, 5)]),
        rules=(LOST,),
        checks=(silent(LOST, 75), silent(LOST, 130)),
    ),
    Case(
        says="traffic that begins, ends and jumps is counted a little before it is traced",
        world=world(
            [(30.5, 1), (50.5, 40), (70.5, 0), (90.5, 60), (999, 2)],
            qps=[(30, 1), (50, 40), (70, 0), (90, 60), (999, 2)],
            minutes=180,
        ),
        rules=(LOST,),
        checks=tuple(silent(LOST, minute) for minute in range(40, 180, 10)),
    ),
)
