"""What is wrong, since when and why: one reading of a fleet, judged by checks."""

from tritonobs.registry import Command, Extension

EXTENSION = Extension(
    summary="what is wrong, since when and why",
    commands=(
        Command(
            under="On call",
            name="triage",
            help="Say what is wrong, since when, why, and what to do now.",
            at="tritonobs.extensions.triage.commands:triage",
            order=10,
        ),
    ),
    answers={
        "follows": "tritonobs.extensions.triage.answers:follows",
        "readings": "tritonobs.extensions.triage.answers:readings",
        "verdict": "tritonobs.extensions.triage.answers:verdict",
    },
)
