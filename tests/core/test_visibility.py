"""Where an event may be shown."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_plugin.types import PerceptionEvent, Place, Scope, Source
from memory_plugin.visibility import shelves_for, shelves_of

NOW = datetime(2024, 5, 1, tzinfo=UTC)
GENERAL = Place(platform="d", space="g1", channel="general", visibility="public")
RANDOM = Place(platform="d", space="g1", channel="random", visibility="public")
STAFF = Place(platform="d", space="g1", channel="staff", visibility="restricted")
MODS = Place(platform="d", space="g1", channel="mods", visibility="restricted")
OTHER = Place(platform="d", space="g2", channel="general", visibility="public")
DM_ANN = Place(platform="d", channel="dm1", visibility="direct", participants=("ann",))
DM_ANN_2 = Place(platform="web", channel="x", visibility="direct", participants=("ann",))
DM_BOB = Place(platform="d", channel="dm2", visibility="direct", participants=("bob",))
GROUP = Place(platform="d", channel="dm3", visibility="direct", participants=("ann", "bob"))
GROUP_GREW = Place(
    platform="d", channel="dm3", visibility="direct", participants=("ann", "bob", "cy")
)


def sees(
    at: Place, said_at: Place, by: str = "ann", *, audience=(), followed=(), agent="bot"
) -> bool:
    event = PerceptionEvent(
        agent_id="bot",
        place=said_at,
        source=Source(entity_id=by, entity_name=by),
        content="x",
        timestamp=NOW,
    )
    scope = Scope(agent_id=agent, place=at, audience=audience)
    return not set(shelves_for(scope, followed)).isdisjoint(shelves_of(event))


@pytest.mark.parametrize(
    ("at", "said_at", "seen"),
    [
        (GENERAL, GENERAL, True),
        (GENERAL, RANDOM, True),
        (GENERAL, STAFF, False),
        (GENERAL, OTHER, False),
        (GENERAL, DM_ANN, False),
        (STAFF, STAFF, True),
        (STAFF, GENERAL, True),
        (STAFF, MODS, False),
        (STAFF, DM_ANN, False),
        (DM_ANN, DM_ANN, True),
        (DM_ANN, DM_ANN_2, True),
        (DM_ANN, DM_BOB, False),
        (DM_ANN, GROUP, False),
        (DM_ANN, GENERAL, False),
        (GROUP, GROUP, True),
        (GROUP, DM_ANN, False),
        (GROUP_GREW, GROUP, False),
        (GROUP, GROUP_GREW, False),
    ],
)
def test_who_may_see_what(at, said_at, seen):
    assert sees(at, said_at) is seen


def test_somebody_looking_over_the_shoulder_closes_a_direct_place():
    assert not sees(DM_ANN, DM_ANN, audience=("bob",))


def test_public_lines_follow_only_those_who_asked_for_it():
    assert not sees(OTHER, GENERAL, audience=("ann",))
    assert sees(OTHER, GENERAL, audience=("ann",), followed=("ann",))
    assert not sees(OTHER, GENERAL, by="bob", audience=("ann",), followed=("ann",))
    assert not sees(OTHER, GENERAL, audience=("bob",), followed=("ann",))
    assert not sees(OTHER, STAFF, audience=("ann",), followed=("ann",))


def test_agents_do_not_share_a_memory():
    assert not sees(GENERAL, GENERAL, agent="other bot")


def test_places_without_a_space_share_nothing():
    one = Place(platform="d", channel="a", visibility="public")
    two = Place(platform="d", channel="b", visibility="public")

    assert sees(one, one)
    assert not sees(one, two)


odd = st.text("ab|%/*_[]", min_size=1, max_size=4)


@given(odd, odd, odd, odd)
def test_no_id_can_be_made_to_look_like_another_shelf(agent, channel, other_agent, other_channel):
    def direct(where: str) -> Place:
        return Place(platform="d", channel=where, visibility="restricted")

    event = PerceptionEvent(
        agent_id=agent,
        place=direct(channel),
        source=Source(entity_id="x", entity_name=""),
        content="",
        timestamp=NOW,
    )
    scope = Scope(agent_id=other_agent, place=direct(other_channel))
    meets = not set(shelves_for(scope)).isdisjoint(shelves_of(event))

    assert meets is ((agent, channel) == (other_agent, other_channel))
