"""A guest: hears every event, thinks fire is important, and answers by repeating."""

from dataclasses import replace

from memory_plugin import hookimpl


@hookimpl
def perceive(event):
    return replace(event, metadata={**event.metadata, "heard_by": "echo"})


@hookimpl
def score_importance(event):
    return 10 if "fire" in event.content else None


@hookimpl
async def respond(event):
    return f"You said: {event.content}"
