"""Reading a rendered context back: proof that nobody's text can pretend to be a line of ours."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from memory_plugin.context.cleaning import INDENT
from memory_plugin.context.lines import HEADINGS

_GAP = re.compile(r"\[(?:\.\.\. )?(\d+) (?:earlier events? )?left out(?: \.\.\.)?\]")
_SPOKEN = re.compile(
    r"(?:\[(?P<when>[^\[\]]*)\] )?(?P<label>[^:\[\]]+?)(?: \[(?P<kind>[^\[\]:]+)\])?: (?P<text>.*)",
    re.DOTALL,
)
_SECTIONS = {heading: name for name, heading in HEADINGS.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """One event of a rendered context, as it stands there."""

    section: str
    label: str
    text: str
    kind: str | None = None
    when: str | None = None


@dataclass(slots=True, kw_only=True)
class Parsed:
    """A rendered context, read back.

    `sections` are the names of the headings in order, `facts` the ``Label: value`` lines of place
    and person, `gaps` the numbers that the markers give, `strange` the lines that fit nowhere.
    """

    sections: list[str] = field(default_factory=list)
    identity: str = ""
    facts: dict[str, str] = field(default_factory=dict)
    spoken: list[Spoken] = field(default_factory=list)
    gaps: list[int] = field(default_factory=list)
    strange: list[str] = field(default_factory=list)


def parse_text(text: str) -> Parsed:
    """What the lines of `Context.text` say, taken by the margin alone.

    Lines are parted as any reader may part them, by every kind of line break there is.
    """
    parsed = Parsed()
    section = ""
    for entry in _entries(text):
        if entry in _SECTIONS:
            section = _SECTIONS[entry]
            parsed.sections.append(section)
        elif section == "identity":
            parsed.identity += f"\n{entry}" if parsed.identity else entry
        elif section in ("place", "person"):
            label, colon, value = entry.partition(": ")
            if colon:
                parsed.facts[label] = value
            else:
                parsed.strange.append(entry)
        else:
            _read_spoken(parsed, section, entry)
    return parsed


def _entries(text: str) -> list[str]:
    """Lines at the margin, each with the indented ones that belong to it, without the indent."""
    entries: list[str] = []
    for line in text.splitlines():
        if line.startswith(INDENT) and entries:
            entries[-1] += f"\n{line.removeprefix(INDENT)}"
        elif line:
            entries.append(line)
    return entries


def _read_spoken(parsed: Parsed, section: str, entry: str) -> None:
    gap = _GAP.fullmatch(entry)
    if gap is not None:
        parsed.gaps.append(int(gap.group(1)))
        return
    spoken = _SPOKEN.fullmatch(entry)
    if spoken is None or not section:
        parsed.strange.append(entry)
        return
    parsed.spoken.append(
        Spoken(
            section=section,
            label=spoken["label"],
            text=spoken["text"],
            kind=spoken["kind"],
            when=spoken["when"],
        )
    )
