"""Why a context holds what it holds: a trace of ids and numbers, and the same in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from memory_plugin.context.ages import age_in_words
from memory_plugin.context.cleaning import clean_name, clean_text
from memory_plugin.context.tiers import Tier
from memory_plugin.context.values import Material
from memory_plugin.truncation import shown_text
from memory_plugin.types import PerceptionEvent, age_between

SNIPPET_CHARS = 160
_WHY = {
    "must answer": "it awaits an answer",
    "cut": "it awaits an answer, and was cut to fit",
    "recent": "it is among the newest",
    "replied to": "a reply to it is shown",
    "worth it": "it was worth its length",
    "room for all": "there was room for all",
    "no room": "the window had no room for it",
    "said already": "it is shown elsewhere in the context",
    "budget": "the budget had no room for it",
}


def trace_of(
    material: Material,
    tiers: Mapping[str, Tier],
    given: Mapping[str, int],
    *,
    budget: int,
    tokens: int,
) -> dict[str, Any]:
    """The trace: JSON values, no text of anybody. An event stands under a key ``id``."""
    shown = {name: tier.shown_ids() for name, tier in tiers.items()}
    everywhere = set().union(*shown.values())
    return {
        "agent": material.agent_id,
        "place": material.place.key,
        "visibility": material.place.visibility,
        "speaker": None if material.speaker is None else material.speaker.entity_id,
        "now": material.now.isoformat(),
        "budget": budget,
        "tokens": tokens,
        "query_terms": material.query_terms,
        "tiers": [
            {
                "tier": name,
                "share": tier.share,
                "given": given[name],
                "used": tier.used,
                "shown": len(tier.kept),
                "left_out": len(tier.pieces) - len(tier.kept),
            }
            for name, tier in tiers.items()
        ],
        "window": [
            _entry(event.id, shown["recent"], everywhere, why=material.window.why.get(event.id))
            for event in (*material.window.dropped, *material.window.kept)
        ],
        "overflow": material.window.overflow,
        "hits": [
            _entry(hit.event.id, shown["memories"], everywhere)
            | {
                "score": round(float(hit.score), 4),
                "parts": {name: round(float(part), 4) for name, part in hit.parts.items()},
            }
            for hit in material.hits
        ],
        "missed": [
            _entry(event.id, shown["missed"], everywhere) | {"importance": event.importance}
            for event in material.missed
        ],
    }


def _entry(
    event_id: str, shown: set[str], everywhere: set[str], *, why: str | None = None
) -> dict[str, Any]:
    if event_id in shown:
        return {"id": event_id, "shown": True, "why": why}
    if why == "no room":
        return {"id": event_id, "shown": False, "why": why}
    reason = "said already" if event_id in everywhere else "budget"
    return {"id": event_id, "shown": False, "why": reason}


def explain(trace: Mapping[str, Any], events: Mapping[str, PerceptionEvent]) -> str:
    """A trace in words, with the texts of those of its events (by id) that still exist."""
    now = datetime.fromisoformat(trace["now"]) if trace.get("now") else None
    lines = [
        f"Context at {trace.get('place')} ({trace.get('visibility')}), {trace.get('now')}",
        f"Speaking with {trace.get('speaker') or 'nobody in particular'}; "
        f"{trace.get('tokens')} of {trace.get('budget')} tokens used",
    ]
    if trace.get("overflow"):
        lines.append("What had to be answered was longer than the window's budget.")
    lines += ["", "Tiers (tokens given, used; pieces shown, left out):"]
    lines += [
        f"  {one['tier']}: {one['given']}, {one['used']}; {one['shown']}, {one['left_out']}"
        for one in trace.get("tiers", ())
    ]
    for key, title in (
        ("hits", "Memories, best first:"),
        ("missed", "Since they were last here:"),
        ("window", "Recent conversation:"),
    ):
        entries = trace.get(key) or ()
        if entries:
            lines += ["", title, *_told(entries, events, now)]
    return "\n".join(lines)


def _told(
    entries: Iterable[Mapping[str, Any]],
    events: Mapping[str, PerceptionEvent],
    now: datetime | None,
) -> Iterable[str]:
    for entry in entries:
        sign = "+" if entry.get("shown") else "-"
        why = entry.get("why")
        because = f" ({_WHY.get(why, why)})" if why else ""
        yield f"  {sign} {_told_event(events.get(entry['id']), now)}{because}"
        if "score" in entry:
            parts = ", ".join(f"{name} {part:+.2f}" for name, part in entry["parts"].items())
            yield f"      score {entry['score']:.2f}: {parts or 'no parts'}"


def _told_event(event: PerceptionEvent | None, now: datetime | None) -> str:
    if event is None:
        return "an event that no longer exists"
    text = clean_text(shown_text(event), SNIPPET_CHARS).replace("\n", " / ")
    age = "" if now is None else f", {age_in_words(age_between(event.timestamp, now))}"
    importance = "" if event.importance is None else f", importance {event.importance}"
    return f"{clean_name(event.source.entity_name)}: {text}{age}{importance}"
