"""What is broken in a file costs itself and nothing else."""

from __future__ import annotations

import io
import json
import zipfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_plugin.errors import ImportFileError
from memory_plugin.importers import Options, Skipped, read
from memory_plugin.importers.json_stream import CutOffError, Window, elements, parsed
from memory_plugin.types import PerceptionEvent


def a_row(number=7, **more):
    return {"ID": number, "Timestamp": "2023-05-07 14:03:22", "Contents": "psst"} | more


@pytest.mark.parametrize(
    ("written", "content"),
    [("x\\udc00y", "x\ufffdy"), ("x\\uD83Dy", "x\ufffdy"), ("\\ud83d\\udc4d", "\U0001f44d")],
)
def test_half_an_emoji_costs_one_character(chats, written, content):
    path = chats.export(chats.message(1, "TORN"), chats.message(2, "good"))
    path.write_text(path.read_text().replace("TORN", written))

    events, skipped = chats.read(path)
    assert [one.content for one in events] == [content, "good"]
    assert skipped == []


def test_half_an_emoji_in_a_json_line_costs_one_character(chats):
    path = chats.file("c.jsonl", '{"user": "a\\udc00", "text": "x\\ud800", "time": 1}\n')

    ((event,), _) = chats.read(path)
    assert event.content == "x\ufffd"
    assert event.source.entity_id == "jsonl:user:a\ufffd"


def test_a_number_of_any_length_does_no_harm(chats):
    path = chats.export(chats.message(1, x=10**30), chats.message(2))
    text = path.read_text().replace(str(10**30), "9" * 10_000)

    assert [one.external_id for one in chats.read(path)[0]] == ["discord:1", "discord:2"]
    events, skipped = chats.read(chats.file("long.json", text))
    assert [one.external_id for one in events] == ["discord:2"]
    assert [one.where for one in skipped] == ["message 1"]


@pytest.mark.parametrize("kind", ["discord-exporter", "jsonl"])
def test_brackets_without_end_cost_what_comes_after_them(chats, kind):
    good = {"user": "a", "text": "first", "time": 1} | chats.message(1, "first")
    if kind == "jsonl":
        text = "[" + json.dumps(good) + "," + "[" * 100_000
    else:
        head = '{"guild": {"id": "5"}, "channel": {"id": "9"}, "messages": ['
        text = head + json.dumps(good) + "," + "[" * 100_000

    events, skipped = chats.read(chats.file("deep.json", text))
    assert [one.content for one in events] == ["first"]
    assert [(one.where[:5], one.reason) for one in skipped] == [
        ("after", "the file is damaged: it ends in the middle")
    ]


def test_deep_nesting_costs_its_own_message(chats):
    deep = "[" * 100_000 + "]" * 100_000
    text = chats.export(chats.message(1), "DEEP", chats.message(3)).read_text()

    events, skipped = chats.read(chats.file("deep.json", text.replace('"DEEP"', deep)))
    assert [one.external_id for one in events] == ["discord:1", "discord:3"]
    assert [(one.where, one.reason) for one in skipped] == [
        ("message 2", "is not JSON: nested too deeply")
    ]


def test_a_list_with_a_broken_record_keeps_the_others(chats):
    good = '{"user": "a", "text": "b", "time": 1}'

    events, skipped = chats.read(chats.file("c.json", f"[{good}, {{oops}}, 5, {good}]"))
    assert len(events) == 2
    assert [one.where for one in skipped] == ["record 2", "record 3"]


def test_damage_in_a_package_costs_its_channel(chats):
    path = chats.package(a_row())
    raw = path.read_bytes()
    at = raw.index(b"psst")
    path.write_bytes(raw[:at] + b"XXXX" + raw[at + 4 :])

    events, skipped = chats.read(path)
    assert [one.place.channel for one in events] == ["222222"]
    assert [one.where for one in skipped] == ["Messages/c111111/"]
    assert "damaged" in skipped[0].reason


def test_what_is_encrypted_or_strangely_packed_is_skipped(chats):
    path = chats.package(a_row())
    with zipfile.ZipFile(path) as archive:
        members = [(one, archive.read(one)) for one in archive.namelist()]
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members:
            packed = zipfile.ZIP_BZIP2 if "c111111/messages" in name else zipfile.ZIP_DEFLATED
            archive.writestr(name, content, packed)
    raw = bytearray(path.read_bytes())
    # The lowest bit of the flags says that a member is encrypted.
    raw[raw.rindex(b"Messages/c222222/messages.json") - 46 + 8] |= 1
    path.write_bytes(raw)

    events, skipped = chats.read(path)
    assert events == []
    assert [one.where for one in skipped] == ["Messages/c111111/", "Messages/c222222/"]
    assert "packed" in skipped[0].reason
    assert "encrypted" in skipped[1].reason


def test_any_damaged_byte_of_a_package_is_survived(chats):
    path = chats.package(a_row())
    whole = path.read_bytes()

    for at in range(0, len(whole), 3):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0xA5]) + whole[at + 1 :])
        try:
            events, _ = chats.read(path, "discord-package")
        except ImportFileError:
            continue
        assert all(one.external_id for one in events)


def test_a_row_that_is_no_message_is_skipped(chats):
    events, skipped = chats.read(chats.package(1, a_row()))

    assert "psst" in [one.content for one in events]
    assert [one.reason for one in skipped] == ["is not a JSON object"]


def test_the_times_of_a_package_are_utc_in_every_zone(chats):
    events, _ = chats.read(chats.package(a_row()), timezone="America/New_York")

    assert [one.timestamp.isoformat() for one in events if one.content == "psst"] == [
        "2023-05-07T14:03:22+00:00"
    ]


ODD = (
    None,
    0,
    1,
    "x",
    "\x00",
    [],
    {},
    [1],
    [None],
    [{}],
    {"a": 1},
    True,
    -1.5,
    10**40,
    {"id": None},
)
MESSAGE_KEYS = (
    "id", "type", "timestamp", "timestampEdited", "content", "author", "attachments", "embeds",
    "stickers", "reactions", "mentions", "reference", "forwardedMessage", "poll", "isPinned",
)  # fmt: skip


@given(
    st.dictionaries(st.sampled_from(MESSAGE_KEYS), st.sampled_from(ODD)),
    st.dictionaries(st.sampled_from(["id", "name", "nickname", "isBot"]), st.sampled_from(ODD)),
    st.dictionaries(st.sampled_from(["id", "type", "name"]), st.sampled_from(ODD)),
)
@settings(max_examples=300, deadline=None)
def test_a_message_of_any_shape_is_an_event_or_a_reason(tmp_path_factory, odd, author, channel):
    path = tmp_path_factory.mktemp("exports") / "export.json"
    whole = {"id": "1", "timestamp": "2023-05-07T14:03:22Z", "content": "hi", "author": {"id": "7"}}
    messages = [whole, whole | {"author": {"id": "7"} | author} | odd, whole]
    head = {"guild": {"id": "0"}, "channel": {"id": "9"} | channel}
    path.write_text(json.dumps(head | {"messages": messages}), encoding="utf-8")

    try:
        found = list(read(path, Options(agent_id="bot"), "discord-exporter"))
    except ImportFileError:
        # Only a channel whose id can name nothing makes the whole file useless.
        assert channel["id"] == "\x00"
    else:
        assert len(found) == 3
        assert isinstance(found[0], PerceptionEvent)


RECORD_KEYS = (
    "user", "author", "text", "content", "time", "timestamp", "channel", "id", "reactions",
    "mentions", "author_id", "agent_id", "place", "source", "role",
)  # fmt: skip


@given(
    st.dictionaries(st.sampled_from(RECORD_KEYS), st.sampled_from([*ODD, "2023-05-07T14:03:22Z"])),
    st.sampled_from([None, "direct"]),
)
@settings(max_examples=300, deadline=None)
def test_a_record_of_any_shape_is_an_event_or_a_reason(tmp_path_factory, record, visibility):
    path = tmp_path_factory.mktemp("records") / "chat.jsonl"
    path.write_text(json.dumps(record), encoding="utf-8")

    found = list(read(path, Options(agent_id="bot", visibility=visibility), "jsonl"))
    assert len(found) == 1
    assert isinstance(found[0], PerceptionEvent | Skipped)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text("ab"), inner),
)


@given(st.lists(JSON), st.booleans(), st.integers(1, 9))
@settings(max_examples=200, deadline=None)
def test_a_stream_gives_what_was_written_in_pieces_of_any_size(values, ascii_only, chunk):
    text = json.dumps(values, ensure_ascii=ascii_only)

    window = Window(io.StringIO(text), chunk_chars=chunk)
    assert [value for _, value in elements(window)] == values
    assert parsed(text) == values


@given(st.text('[]{},:"\\ 1a'), st.integers(1, 9))
@settings(max_examples=400, deadline=None)
def test_a_stream_of_anything_ends(text, chunk):
    window = Window(io.StringIO(text), chunk_chars=chunk)

    found = [value for _, value in elements(window)]
    assert len(found) <= len(text) + 1
    assert all(not isinstance(one, CutOffError) for one in found[:-1])
