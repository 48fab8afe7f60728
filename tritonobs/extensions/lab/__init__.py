"""The practice stack: start it, send load, inject faults."""

from tritonobs.registry import Command, Extension

EXTENSION = Extension(
    summary="the practice stack: start it, send load, inject faults",
    commands=(
        Command(
            under="Practice",
            name="demo",
            help="Overflow a QPS limit on a real stack and watch the alert arrive.",
            at="tritonobs.extensions.lab.commands:demo",
            order=10,
        ),
        Command(
            under="Practice",
            name="tools",
            help="Install Prometheus and Alertmanager from distribution packages, without root.",
            at="tritonobs.extensions.lab.commands:tools",
            order=20,
        ),
        Command(
            under="Practice",
            name="up",
            help="Start Triton, Prometheus, Alertmanager and serve on this machine.",
            at="tritonobs.extensions.lab.commands:up",
            order=30,
        ),
        Command(
            under="Practice",
            name="status",
            help="Show which parts of the local stack run and answer.",
            at="tritonobs.extensions.lab.commands:status",
            order=40,
        ),
        Command(
            under="Practice",
            name="down",
            help="Stop the local stack.",
            at="tritonobs.extensions.lab.commands:down",
            order=50,
        ),
        Command(
            under="Practice",
            name="load",
            help="Send real images or prompts; the rate does not depend on responses.",
            at="tritonobs.extensions.lab.commands:load",
            order=60,
        ),
        Command(
            under="Practice",
            name="drill",
            help="Rehearse an alert: inject a fault on a practice stack.",
            at="tritonobs.extensions.lab.commands:drill",
            order=70,
        ),
    ),
    answers={
        "running": "tritonobs.extensions.lab.answers:Running",
        "driven": "tritonobs.extensions.lab.answers:driven",
    },
    extras={
        "stack": (
            "aiohttp",
            "cv2",
            "gevent",
            "geventhttpclient",
            "numpy",
            "onnxruntime",
            "psutil",
            "pytriton",
            "tritonclient",
        )
    },
)
