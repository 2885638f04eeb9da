"""The five tiers of a context: what could be in each, and what is, within a number of tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from memory_plugin.context.lines import HEADINGS
from memory_plugin.truncation import Count, Truncated, find_ties, gap_line

# What a chat format adds to each message. The agent's own line ends one message and begins another.
MESSAGE_TOKENS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """Something that is shown whole or not at all; `own` is the text alone if the agent spoke."""

    text: str
    tokens: int
    id: str | None = None
    own: str | None = None


def piece_of(text: str, count: Count, *, id_: str | None = None, own: str | None = None) -> Piece:
    """A piece with its size, the end of its line included."""
    tokens = count(f"{text}\n") + (0 if own is None else 2 * MESSAGE_TOKENS)
    return Piece(text=text, tokens=tokens, id=id_, own=own)


class Tier:
    """A heading and pieces under it, `pieces` as they are read.

    `groups` are positions that come or stay together, the most wanted first.
    """

    def __init__(
        self,
        name: str,
        share: float,
        pieces: Sequence[Piece],
        groups: Iterable[Sequence[int]],
        count: Count,
    ) -> None:
        self.name = name
        self.share = share
        self.pieces = list(pieces)
        self.groups = [tuple(group) for group in groups]
        self.kept: set[int] = set()
        self.count = count
        self.heading = count(f"\n{HEADINGS[name]}\n")

    def size(self, kept: set[int]) -> int:
        """Tokens of the tier with these pieces; an empty tier has no heading."""
        if not kept:
            return 0
        return self.heading + sum(self.pieces[position].tokens for position in kept)

    @property
    def used(self) -> int:
        """Tokens of what is in."""
        return self.size(self.kept)

    @property
    def need(self) -> int:
        """Tokens of everything that could be in."""
        return self.size(set(range(len(self.pieces))))

    def fill(self, room: int, unwanted: Callable[[str], bool] = lambda _: False) -> None:
        """Let in the most wanted that fit into `room`, but no event that is `unwanted`, by id."""
        wanted = [group for group in self.groups if not any(map(unwanted, self._ids(group)))]
        all_of_them = self.kept.union(*wanted)
        if self.size(all_of_them) <= room:
            # One by one they might not come in: a marker for what is missing can be longer than it.
            self.kept = all_of_them
            return
        for group in wanted:
            wider = self.kept.union(group)
            if self.size(wider) <= room:
                self.kept = wider

    def _ids(self, positions: Iterable[int]) -> set[str]:
        return {name for one in positions if (name := self.pieces[one].id) is not None}

    def shrink(self) -> bool:
        """Take out the least wanted that is in; False when nothing is."""
        for group in reversed(self.groups):
            if not self.kept.isdisjoint(group):
                self.kept -= set(group)
                return True
        return False

    def shown_ids(self) -> set[str]:
        """The ids of the events that are in."""
        return self._ids(self.kept)

    def shown(self) -> list[Piece]:
        """What is in, as it is read."""
        return [self.pieces[position] for position in sorted(self.kept)]


class Recent(Tier):
    """The recent conversation: newest first wanted, and a marker wherever something is missing."""

    def __init__(
        self, share: float, window: Truncated, pieces: Sequence[Piece], count: Count
    ) -> None:
        ties = find_ties(window.kept)
        units = sorted(ties.units, key=lambda unit: -unit[-1])
        if ties.unanswered is not None:
            units.sort(key=lambda unit: ties.unanswered not in unit)
        super().__init__("recent", share, pieces, units, count)
        missing = {gap.before: gap.events for gap in window.gaps}
        self._before = [missing.get(event.id, 0) for event in window.kept]
        self._after = missing.get(None, 0)
        self._markers: dict[tuple[int, bool], Piece] = {}

    def _marker(self, events: int, *, leading: bool) -> Piece:
        key = events, leading
        if key not in self._markers:
            self._markers[key] = piece_of(gap_line(events, leading=leading), self.count)
        return self._markers[key]

    def _with_markers(self, kept: set[int]) -> list[Piece]:
        shown: list[Piece] = []
        missing = 0
        for position, piece in enumerate(self.pieces):
            missing += self._before[position]
            if position not in kept:
                missing += 1
                continue
            if missing:
                shown.append(self._marker(missing, leading=not shown))
            missing = 0
            shown.append(piece)
        missing += self._after
        return [*shown, self._marker(missing, leading=not shown)] if missing else shown

    def size(self, kept: set[int]) -> int:
        """Tokens of the tier with these pieces and the markers between them."""
        if not kept:
            return 0
        return self.heading + sum(piece.tokens for piece in self._with_markers(kept))

    def shown(self) -> list[Piece]:
        """What is in, and the markers, as it is read."""
        return self._with_markers(self.kept) if self.kept else []
