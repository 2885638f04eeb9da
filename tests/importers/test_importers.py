"""Chat logs of every format become the same kind of events, and twice is once."""

from __future__ import annotations

import json
import os
import zipfile
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_plugin.codec import dumps
from memory_plugin.errors import ImportFileError, ValidationError
from memory_plugin.importers import FORMATS, Options, Skipped, detect, read
from memory_plugin.sqlite import SqliteStore
from memory_plugin.types import PerceptionEvent, Place, Source

MINE = Options(agent_id="bot")


def events(path, options=MINE, kind=None) -> list[PerceptionEvent]:
    return [one for one in read(path, options, kind) if isinstance(one, PerceptionEvent)]


def skipped(path, options=MINE, kind=None) -> list[Skipped]:
    return [one for one in read(path, options, kind) if isinstance(one, Skipped)]


def a_message(number: int, text: str = "hello", **more) -> dict:
    message = {
        "id": str(number),
        "type": "Default",
        "timestamp": f"2023-05-07T14:{number % 60:02}:00.1234567+02:00",
        "timestampEdited": None,
        "isPinned": False,
        "content": text,
        "author": {"id": "77", "name": "ann#1", "nickname": "Ann", "isBot": False},
        "attachments": [],
        "embeds": [],
        "reactions": [],
        "mentions": [],
    }
    return message | more


def an_export(tmp_path, *messages, channel=None, guild=None, name="export.json"):
    document = {
        "guild": guild or {"id": "5", "name": "Guild"},
        "channel": {"id": "9", "type": "GuildTextChat", "name": "general", **(channel or {})},
        "dateRange": {"after": None, "before": None},
        "exportedAt": "2024-01-01T00:00:00+00:00",
        "messages": list(messages),
    }
    path = tmp_path / name
    path.write_text(json.dumps(document, indent=1), encoding="utf-8")
    return path


def test_a_discord_export_becomes_events(tmp_path):
    path = an_export(tmp_path, a_message(1, "first"), a_message(2, "second"))

    assert detect(path) == "discord-exporter"
    first, second = events(path)
    assert (first.content, second.content) == ("first", "second")
    assert first.timestamp == datetime(2023, 5, 7, 12, 1, 0, 123456, tzinfo=UTC)
    assert first.external_id == "discord:1"
    assert first.source == Source(
        entity_id="discord:user:77", entity_name="Ann", source_type="channel"
    )
    assert (first.place.space, first.place.channel, first.place.visibility) == (
        "5",
        "9",
        "restricted",
    )


def test_a_minified_export_is_known_too(tmp_path):
    path = an_export(tmp_path, a_message(1))
    path.write_text(json.dumps(json.loads(path.read_text())), encoding="utf-8")

    assert detect(path) == "discord-exporter"
    assert len(events(path)) == 1


def test_an_exported_direct_channel_is_direct_between_those_who_wrote(tmp_path):
    other = {"id": "88", "name": "bob"}
    path = an_export(
        tmp_path,
        a_message(1),
        a_message(2, author=other),
        channel={"type": "DirectTextChat"},
        guild={"id": "0", "name": "Direct Messages"},
    )

    place = events(path)[0].place
    assert place.visibility == "direct"
    assert place.participants == ("discord:user:77", "discord:user:88")
    assert place.space is None


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"attachments": [{"fileName": "cat.png", "url": "x"}]}, "hello\n[image: cat.png]"),
        ({"attachments": [{"fileName": "a.zip", "url": "x"}]}, "hello\n[file: a.zip]"),
        ({"stickers": [{"name": "Laugh"}]}, "hello\n[sticker: Laugh]"),
        ({"content": "", "forwardedMessage": {"content": "old"}}, "[forwarded] old"),
        ({"embeds": [{"title": "a link", "description": "d"}]}, "hello"),
        (
            {
                "author": {"id": "1", "name": "bot", "isBot": True},
                "embeds": [
                    {"title": "T", "description": "D", "fields": [{"name": "n", "value": "v"}]}
                ],
            },
            "hello\nT\nD\nn: v",
        ),
        (
            {
                "content": "",
                "poll": {"question": {"text": "Q?"}, "answers": [{"text": "A"}, {"text": "B"}]},
            },
            "[poll] Q? A / B",
        ),
    ],
)
def test_what_hangs_on_a_message_is_readable(tmp_path, more, text):
    assert events(an_export(tmp_path, a_message(1, **more)))[0].content == text


def test_replies_edits_bots_and_system_messages_keep_what_they_are(tmp_path):
    path = an_export(
        tmp_path,
        a_message(1, reference={"messageId": "55", "channelId": "9"}, type="Reply"),
        a_message(2, timestampEdited="2023-05-07T15:00:00+02:00"),
        a_message(3, author={"id": "1", "name": "bot", "isBot": True}),
        a_message(4, "Ann joined.", type="GuildMemberJoin"),
        a_message(5, type="20"),
    )

    reply, edited, bot, system, command = events(path)
    assert reply.reply_to == "discord:55"
    assert edited.metadata["edited_at"] == "2023-05-07T15:00:00+02:00"
    assert bot.metadata["is_bot"] is True
    assert system.source.source_type == "system"
    assert command.source.source_type == "channel"


def test_an_older_export_without_the_newer_keys_is_read(tmp_path):
    message = {
        "id": "1", "type": "Default", "timestamp": "2019-05-07T14:03:00+00:00",
        "content": "old", "author": {"id": "7", "name": "ann"},
    }  # fmt: skip

    assert events(an_export(tmp_path, message))[0].source.entity_name == "ann"


def test_a_bad_message_does_not_end_the_import(tmp_path):
    bad = [a_message(2, timestamp="soon"), {"id": "3"}, "text", a_message(4, author=None)]
    path = an_export(tmp_path, a_message(1), *bad, a_message(5))

    assert [one.external_id for one in events(path)] == ["discord:1", "discord:5"]
    assert [one.where for one in skipped(path)] == [f"message {n}" for n in range(2, 6)]


def test_a_cut_off_export_gives_what_is_before_the_cut(tmp_path):
    path = an_export(tmp_path, *(a_message(n) for n in range(1, 20)))
    path.write_bytes(path.read_bytes()[:-1500])

    assert len(events(path)) > 10
    assert "damaged" in skipped(path)[-1].reason


def a_package(tmp_path, *, zipped=True, as_csv=False):
    files = {
        "Account/user.json": json.dumps({"id": "77", "username": "ann", "global_name": "Ann"}),
        "Nachrichten/index.json": json.dumps({"111111": "general"}),
        "Nachrichten/c111111/channel.json": json.dumps(
            {
                "id": "111111",
                "type": "GUILD_TEXT",
                "name": "general",
                "guild": {"id": "5", "name": "G"},
            }
        ),
        "Nachrichten/c222222/channel.json": json.dumps(
            {"id": "222222", "type": 1, "recipients": ["77", "88"]}
        ),
        "Nachrichten/c222222/messages.json": json.dumps(
            [{"ID": "8", "Timestamp": "2023-05-07 14:00:00", "Contents": "psst", "Attachments": ""}]
        ),
    }
    rows = [
        {"ID": 2, "Timestamp": "2023-05-07 14:03:22", "Contents": "later", "Attachments": ""},
        {
            "ID": "1",
            "Timestamp": "2023-05-07 14:03:21",
            "Contents": "",
            "Attachments": "https://x/cat.png?ex=1",
        },
    ]
    if as_csv:
        lines = ["ID,Timestamp,Contents,Attachments"]
        lines += [f"{r['ID']},{r['Timestamp']},{r['Contents']},{r['Attachments']}" for r in rows]
        files["Nachrichten/c111111/messages.csv"] = "\n".join(lines)
    else:
        files["Nachrichten/c111111/messages.json"] = json.dumps(rows)
    if zipped:
        path = tmp_path / "package.zip"
        with zipfile.ZipFile(path, "w") as archive:
            for name, text in files.items():
                archive.writestr(name, text)
        return path
    for name, text in files.items():
        (tmp_path / "package" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "package" / name).write_text(text, encoding="utf-8")
    return tmp_path / "package"


@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.parametrize("as_csv", [True, False])
def test_a_data_package_becomes_events(tmp_path, zipped, as_csv):
    path = a_package(tmp_path, zipped=zipped, as_csv=as_csv)

    found = events(path)

    assert detect(path) == "discord-package"
    assert [one.external_id for one in found] == ["discord:1", "discord:2", "discord:8"]
    assert found[0].content == "[image: cat.png]"
    assert found[1].timestamp == datetime(2023, 5, 7, 14, 3, 22, tzinfo=UTC)
    assert {one.source.entity_name for one in found} == {"Ann"}
    assert found[2].place.visibility == "direct"
    assert found[2].place.participants == ("discord:user:77", "discord:user:88")


def test_perception_events_as_json_lines_come_back_whole(tmp_path):
    event = PerceptionEvent(
        agent_id="npc",
        place=Place(platform="mud", channel="#2", visibility="public"),
        source=Source(entity_id="mud:object:#5", entity_name="Bob"),
        content="two\nlines",
        timestamp=datetime(2024, 5, 1, tzinfo=UTC),
        importance=7,
    )
    path = tmp_path / "events.jsonl"
    path.write_text(dumps(event) + "\n\n" + dumps(event) + "\n", encoding="utf-8")

    assert detect(path) == "jsonl"
    assert events(path) == [event, event]


@pytest.mark.parametrize(
    "record",
    [
        {"user": "Ann", "text": "hi", "time": "2024-05-01T12:00:00Z"},
        {"author": {"name": "Ann", "id": 7}, "content": "hi", "timestamp": 1714564800},
        {"name": "Ann", "message": "hi", "date": 1714564800000},
        {"speaker": "Ann", "text": "hi", "ts": "1714564800.0"},
        {"from": "Ann", "text": "hi", "date": "2024-05-01 12:00:00"},
    ],
)
def test_simple_records_in_their_usual_forms_are_read(tmp_path, record):
    path = tmp_path / "chat.jsonl"
    path.write_text(json.dumps(record), encoding="utf-8")

    (found,) = events(path)
    assert (found.source.entity_name, found.content) == ("Ann", "hi")
    assert found.timestamp == datetime(2024, 5, 1, 12, tzinfo=UTC)


def test_a_json_list_is_read_like_json_lines(tmp_path):
    records = [{"user": "Ann", "text": f"m{n}", "time": 1714564800 + n} for n in range(3)]
    path = tmp_path / "chat.json"
    path.write_text(json.dumps(records), encoding="utf-8")

    assert [one.content for one in events(path)] == ["m0", "m1", "m2"]


@pytest.mark.parametrize(
    "line",
    ["nonsense", "5", "[]", "{}", '{"user": "a", "text": "b"}',
     '{"user": "a", "text": 5, "time": 1}',
     '{"user": "a", "text": "b", "time": "soon"}', '{"user": "a", "text": "b", "time": true}',
     '{"user": "a", "text": "b", "time": 1e300}', '{"user": {}, "text": "b", "time": 1}',
     '{"agent_id": "a", "source": 5, "place": {}}', "[" * 5000],
)  # fmt: skip
def test_a_bad_json_line_is_skipped_with_its_number(tmp_path, line):
    good = '{"user": "a", "text": "b", "time": 1}'
    path = tmp_path / "chat.jsonl"
    path.write_text(f"{good}\n{line}\n{good}\n", encoding="utf-8")

    assert len(events(path, kind="jsonl")) == 2
    assert [one.where for one in skipped(path, kind="jsonl")] == ["line 2"]


LOGS = [
    ("[2023-05-07 14:03] Ann: hello: you", "Ann", "hello: you", (2023, 5, 7, 14, 3, 0)),
    ("[2023-05-07 14:03:22] <Ann> hello", "Ann", "hello", (2023, 5, 7, 14, 3, 22)),
    ("2023-05-07T14:03:22Z <@Ann> hello", "Ann", "hello", (2023, 5, 7, 14, 3, 22)),
    ("2023-05-07T14:03:22+02:00 Ann: hello", "Ann", "hello", (2023, 5, 7, 12, 3, 22)),
    ("7.5.2023, 14:03 - Ann: hello", "Ann", "hello", (2023, 5, 7, 14, 3, 0)),
    ("[5/7/23, 2:03:22 PM] Ann: hello", "Ann", "hello", (2023, 5, 7, 14, 3, 22)),
    ("[2023-05-07 14:03] * Ann waves", "Ann", "waves", (2023, 5, 7, 14, 3, 0)),
    ("2023-05-07 14:03:22\tAnn\thello", "Ann", "hello", (2023, 5, 7, 14, 3, 22)),
]


@pytest.mark.parametrize(("line", "who", "text", "when"), LOGS)
def test_lines_of_many_programs_are_read(tmp_path, line, who, text, when):
    path = tmp_path / "chat.log"
    path.write_text(line, encoding="utf-8")

    (found,) = events(path)
    assert (found.source.entity_name, found.content) == (who, text)
    assert found.timestamp == datetime(*when, tzinfo=UTC)
    assert found.source.source_type == ("pose" if "waves" in text else "say")


def test_clock_times_take_their_day_from_the_log(tmp_path):
    path = tmp_path / "irc.log"
    path.write_text(
        "--- Log opened Sun May 07 23:00:00 2023\n"
        "23:59 <ann> late\n"
        "00:01 <bob> early\n"
        "--- Day changed Tue May 09 2023\n"
        "10:00 <ann> next\n"
        "10:01 -!- cy [cy@host] has joined #chan\n"
        "-- Wed, 10 May 2023 --\n"
        "10:02 <ann> last\n",
        encoding="utf-8",
    )

    assert [(one.content, one.timestamp.day) for one in events(path)] == [
        ("late", 7), ("early", 8), ("next", 9), ("last", 10),
    ]  # fmt: skip
    assert [one.reason for one in skipped(path)] == ["is a notice of the program"]


def test_lines_without_a_name_continue_the_message(tmp_path):
    path = tmp_path / "chat.log"
    path.write_text("lost\n[2023-05-07 14:03] Ann: one\ntwo\n  three\n[2023-05-07 14:04] Bob: x\n")

    assert [one.content for one in events(path)] == ["one\ntwo\n  three", "x"]
    assert [one.where for one in skipped(path)] == ["line 1"]


def test_lines_without_a_time_keep_their_order_and_say_so(tmp_path):
    path = tmp_path / "chat.log"
    path.write_text("Ann: one\nBob: two\n", encoding="utf-8")
    os.utime(path, (1_700_000_000, 1_700_000_000))

    one, two = events(path)
    assert one.timestamp < two.timestamp
    assert one.metadata == {"time_estimated": True}


def test_times_without_an_offset_are_of_the_zone_that_was_given(tmp_path):
    path = tmp_path / "chat.log"
    path.write_text("[2023-05-07 14:03] Ann: hello", encoding="utf-8")

    (found,) = events(path, Options(agent_id="bot", timezone="Europe/Berlin"))
    assert found.timestamp == datetime(2023, 5, 7, 12, 3, tzinfo=UTC)
    with pytest.raises(ValidationError, match="timezone"):
        Options(agent_id="bot", timezone="Mars/Olympus")


def test_the_options_overrule_the_file(tmp_path):
    path = an_export(tmp_path, a_message(1))

    place = events(path, Options(agent_id="b", space="s", channel="c", visibility="public"))[
        0
    ].place
    assert (place.space, place.channel, place.visibility) == ("s", "c", "public")


@pytest.mark.parametrize("content", [b"", b"  \n", b"\x00\x01binary", b"PK\x03\x04broken"])
def test_a_file_that_is_no_export_is_refused_at_once(tmp_path, content):
    path = tmp_path / "thing"
    path.write_bytes(content)

    with pytest.raises(ImportFileError, match="thing"):
        list(read(path, MINE))


def test_a_missing_file_and_an_unknown_format_are_refused(tmp_path):
    with pytest.raises(ImportFileError, match="No such file"):
        list(read(tmp_path / "none", MINE))
    with pytest.raises(ImportFileError, match="known are"):
        list(read(tmp_path, MINE, "pdf"))


@pytest.mark.parametrize("kind", FORMATS)
async def test_importing_twice_adds_nothing(tmp_path, kind):
    log = tmp_path / "chat.log"
    log.write_text("[2023-05-07 14:03] Ann: same\n[2023-05-07 14:03] Ann: same\nno time: x\n")
    records = tmp_path / "chat.jsonl"
    records.write_text('{"user": "a", "text": "b", "time": 1}\n' * 2, encoding="utf-8")
    path = {
        "discord-exporter": lambda: an_export(tmp_path, a_message(1), a_message(2)),
        "discord-package": lambda: a_package(tmp_path),
        "jsonl": lambda: records,
        "log": lambda: log,
    }[kind]()
    store = await SqliteStore.open(tmp_path / "memory.db")
    try:
        first = await store.add(events(path))
        second = await store.add(events(path))
    finally:
        await store.close()

    assert {one.status for one in first} == {"stored"}
    assert {one.status for one in second} == {"known"}


@given(st.text(st.characters(exclude_categories=[]), max_size=200))
@settings(max_examples=400, deadline=None)
def test_any_text_is_events_and_reasons_and_nothing_else(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("logs") / "chat.log"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))

    for kind in ("log", "jsonl"):
        found = list(read(path, MINE, kind))
        assert all(isinstance(one, PerceptionEvent | Skipped) for one in found)


@given(
    st.lists(
        st.sampled_from(
            ["[14:03] ", "<a> ", "b: ", "* c d", "---", "2023-13-45 25:61 ", "\t", "x", "\n"]
        )
    )
)
@settings(max_examples=400, deadline=None)
def test_pieces_of_log_lines_in_any_order_are_survived(tmp_path_factory, pieces):
    path = tmp_path_factory.mktemp("logs") / "chat.log"
    path.write_text("".join(pieces), encoding="utf-8")

    assert all(isinstance(one, PerceptionEvent | Skipped) for one in read(path, MINE, "log"))
