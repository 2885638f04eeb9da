"""What a write works with: the connection, its revision, and texts that are kept once."""

from __future__ import annotations

import json
import sqlite3

from memory_plugin.sqlite.indexes import OnShelves
from memory_plugin.types import Place, Source
from memory_plugin.visibility import is_person

MOST_REMEMBERED = 50_000
_BEGIN = "select revision, purges from meta"
_TOUCH = "update meta set revision = ?"
_FIND = {
    "agent": "select number from agent where id = ?",
    "spot": "select number from spot where key = ?",
    "place": "select number from place where value = ?",
    "author": "select number from author where id = ?",
    "entity": "select number from entity where author = ? and name = ?",
    "shelf": "select number from shelf where name = ?",
}
_MAKE = {
    "agent": "insert into agent (id) values (?)",
    "spot": "insert into spot (key) values (?)",
    "place": "insert into place (value, spot) values (?, ?)",
    "author": "insert into author (id) values (?)",
    "entity": "insert into entity (author, name) values (?, ?)",
    "shelf": "insert into shelf (name) values (?)",
}


def place_text(place: Place) -> str:
    """A whole place as one text; `place_of` reads it back."""
    parts = [
        place.platform,
        place.space,
        place.channel,
        place.name,
        place.visibility,
        place.participants,
    ]
    return json.dumps(parts, ensure_ascii=False, separators=(",", ":"))


def place_of(text: str) -> Place:
    """The place that `place_text` wrote."""
    platform, space, channel, name, visibility, participants = json.loads(text)
    return Place(
        platform=platform,
        space=space,
        channel=channel,
        name=name,
        visibility=visibility,
        participants=tuple(participants),
    )


class Writing:
    """One write transaction after another: `begin`, then any number of changes, then a commit.

    Numbers of texts are remembered from one transaction to the next, until `forget` (something was
    rolled back) or until any process has removed such texts.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self._revision = 0
        self._touched = False
        self._purges = -1
        self._numbers: dict[tuple[object, ...], int] = {}
        self._places: dict[Place, tuple[int, int]] = {}
        self._sources: dict[Source, tuple[int, int]] = {}
        self._shelves: dict[tuple[str, ...], OnShelves] = {}

    def begin(self) -> None:
        """A write transaction has begun."""
        self._revision, purges = self.connection.execute(_BEGIN).fetchone()
        self._touched = False
        if purges != self._purges or len(self._numbers) > MOST_REMEMBERED:
            self.forget()
            self._purges = purges

    def forget(self) -> None:
        """Something was rolled back: remembered numbers may not be in the file."""
        self._numbers.clear()
        self._places.clear()
        self._sources.clear()
        self._shelves.clear()
        self._touched = False

    def revision(self) -> int:
        """The number of this transaction, for the rows it changes."""
        if not self._touched:
            self.connection.execute(_TOUCH, (self._revision + 1,))
            self._touched = True
        return self._revision + 1

    def agent(self, agent_id: str) -> int:
        """The number of an agent."""
        return self._number("agent", (agent_id,))

    def place(self, place: Place) -> tuple[int, int]:
        """The numbers of a place's key and of the whole place."""
        known = self._places.get(place)
        if known is None:
            spot = self._number("spot", (place.key,))
            known = spot, self._number("place", (place_text(place),), (spot,))
            self._places[place] = known
        return known

    def source(self, source: Source) -> tuple[int, int]:
        """The numbers of an entity id, and of that id with this name."""
        known = self._sources.get(source)
        if known is None:
            author = self._number("author", (source.entity_id,))
            known = author, self._number("entity", (author, source.entity_name))
            self._sources[source] = known
        return known

    def shelves(self, names: tuple[str, ...]) -> OnShelves:
        """The numbers of shelves."""
        known = self._shelves.get(names)
        if known is None:
            known = OnShelves(
                worded=tuple(self._shelf(name) for name in names if not is_person(name)),
                wordless=tuple(self._shelf(name) for name in names if is_person(name)),
            )
            self._shelves[names] = known
        return known

    def _shelf(self, name: str) -> int:
        return self._number("shelf", (name,))

    def _number(self, table: str, key: tuple[object, ...], more: tuple[object, ...] = ()) -> int:
        known = self._numbers.get((table, *key))
        if known is not None:
            return known
        row = self.connection.execute(_FIND[table], key).fetchone()
        if row is None:
            number = self.connection.execute(_MAKE[table], (*key, *more)).lastrowid or 0
        else:
            number = row[0]
        self._numbers[(table, *key)] = number
        return number
