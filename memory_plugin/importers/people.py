"""What stays of others beside a message: counts, never who they are.

Forgetting a person erases the events they caused. Their id or name in the metadata of somebody
else's message would stay behind.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

# Messages of others that hang on a record, and pictures of faces.
_DROPPED = frozenset({"referenced_message", "referencedMessage", "reply_message", "quoted_message"})


def reaction_counts(reactions: object) -> dict[str, int]:
    """How often each emoji was given; empty if that cannot be made out."""
    counts: Counter[str] = Counter()
    for one in reactions if isinstance(reactions, list) else ():
        if not isinstance(one, Mapping):
            continue
        emoji = one.get("emoji")
        name = emoji.get("name") if isinstance(emoji, Mapping) else emoji or one.get("name")
        count = one.get("count")
        if not isinstance(count, int) or isinstance(count, bool):
            users = one.get("users")
            count = len(users) if isinstance(users, list) else 1
        if isinstance(name, str) and name:
            counts[name] += count
    return dict(counts)


def without_others(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """`metadata` with reactions and mentions as counts, and without faces and others' messages."""
    kept: dict[str, Any] = {}
    for key, value in metadata.items():
        if key == "reactions":
            counts = reaction_counts(value)
            if counts:
                kept[key] = counts
        elif key == "mentions":
            if isinstance(value, list | tuple | Mapping) and value:
                kept[key] = len(value)
        elif key not in _DROPPED and "avatar" not in key.lower():
            kept[key] = without_others(value) if isinstance(value, Mapping) else value
    return kept
