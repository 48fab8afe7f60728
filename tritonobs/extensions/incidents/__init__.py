"""Alerts that belong together are one incident, and people hear of it as one conversation.

An extension: the delivery keeps a `State`, and a `Chat` for every robot, and calls

    step = join(state, now, alerts, fleet, verdict)  # at every call and verdict, and every 15 s without any;
    for alert in step.outside: ...                   # what no incident has is delivered as today
    for message in due(chat, chat_incidents(step.incidents, keys, now), now, fleet, policy):
        chat = accepted(chat, message, now)          # once the robot took it; one that failed is due again
    recorder.keep(entry_of(incident, now))           # `recorder` alone touches the disk

with the fingerprints of the alerts that this robot is for as `keys`. All but `recorder` is pure.
"""

from tritonobs.registry import Command, Extension

EXTENSION = Extension(
    summary="alerts that belong together as one incident, with its cause",
    commands=(
        Command(
            under="On call",
            name="incidents",
            help="List incidents, and show what happened in one.",
            at="tritonobs.extensions.incidents.commands:incidents",
            order=15,
        ),
    ),
    serve="tritonobs.extensions.incidents.part:Incidents",
)
