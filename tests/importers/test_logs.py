"""When the lines of a plain log were said, which of them are messages, and what is no log."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_plugin.errors import ImportFileError
from memory_plugin.importers import Options, detect, read
from memory_plugin.importers.log_lines import without_style

WRITTEN = datetime(2023, 5, 7, 0, 2, tzinfo=UTC)


@pytest.fixture
def log(chats):
    def written(text, at=WRITTEN):
        path = chats.file("chat.log", text)
        os.utime(path, (at.timestamp(), at.timestamp()))
        return path

    return written


def times(chats, path, **asked):
    return [one.timestamp for one in chats.read(path, **asked)[0]]


def test_in_a_log_with_times_a_line_without_one_continues(chats, log):
    path = log(
        "Title: no\n[2023-05-07 14:03] ann: hi\nNote: this\nbye\n[2023-05-07 14:04] bob: x\n"
    )

    events, skipped = chats.read(path)
    assert [one.content for one in events] == ["hi\nNote: this\nbye", "x"]
    assert [one.where for one in skipped] == ["line 1"]


def test_a_log_without_times_ends_when_it_was_written(chats, log):
    assert times(chats, log("ann: hi\nbob: yo\n")) == [WRITTEN - timedelta(seconds=1), WRITTEN]


def test_a_log_without_days_ends_before_it_was_written(chats, log):
    clocks = ("22:00", "23:00", "01:00", "23:59", "00:01")
    path = log("".join(f"[{one}] <ann> hi\n" for one in clocks))

    assert [one.isoformat()[:16] for one in times(chats, path)] == [
        "2023-05-05T22:00",
        "2023-05-05T23:00",
        "2023-05-06T01:00",
        "2023-05-06T23:59",
        "2023-05-07T00:01",
    ]


def test_a_clock_after_the_writing_is_of_the_day_before(chats, log):
    assert times(chats, log("[00:03] <ann> hi\n")) == [WRITTEN - timedelta(hours=23, minutes=59)]
    assert times(chats, log("[00:02] <ann> hi\n")) == [WRITTEN]


def test_the_zone_says_which_day_a_log_was_written(chats, log):
    (said,) = times(chats, log("[23:00] <ann> hi\n"), timezone="America/New_York")

    assert said == datetime(2023, 5, 6, 3, tzinfo=UTC)


def test_lines_before_the_first_day_of_a_log_come_before_it(chats, log):
    text = "23:59 <ann> a\n--- Day changed Tue May 02 2023\n00:01 <ann> b\n"

    assert times(chats, log(text)) == [
        datetime(2023, 5, 1, 23, 59, tzinfo=UTC),
        datetime(2023, 5, 2, 0, 1, tzinfo=UTC),
    ]


def test_a_log_that_grew_keeps_the_ids_it_had(chats, log):
    text = "ann: hi\nann: hi\nbob: yo\n"
    before = [one.external_id for one in chats.read(log(text))[0]]

    later = WRITTEN + timedelta(days=3)
    after = [one.external_id for one in chats.read(log(text + "ann: hi\n", later))[0]]
    assert after[:3] == before
    assert len(set(after)) == 4


def test_colors_and_styles_are_taken_off_names_and_texts(chats, log):
    path = log("[2023-05-07 14:03] <\x0304,12ann\x0f> \x02h\x1b[1mi\x1b[0m\x02 \x1d7\x0304 cats\n")

    ((event,), _) = chats.read(path)
    assert (event.source.entity_name, event.content) == ("ann", "hi 7 cats")


@given(st.text("\x03\x04\x02\x0f\x1b[m0,9aF "))
@settings(deadline=None)
def test_taking_off_styles_never_adds_anything(text):
    plain = without_style(text)

    assert len(plain) <= len(text)
    assert "\x03" not in plain
    assert "\x02" not in plain


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_logs_in_the_encodings_of_windows_are_read(chats, encoding):
    path = chats.file("w.log", "[2023-05-07 14:03] änn: hé\r\n".encode(encoding))

    ((event,), _) = chats.read(path)
    assert (event.source.entity_name, event.content) == ("änn", "hé")


PROSE = (
    """# Notes on bread

Warning: hot. Mix flour and water, then wait.
* Knead it well
The rest is simple: fold, turn, and fold again, until it
keeps its form. Then bake.

    [2023-05-07 14:03] Ann: this shows what a log looks like

--- and so on ---
"""
    + "It takes an hour.\n" * 12
)


@pytest.mark.parametrize(
    "text",
    ["Once upon a time\nthere was nothing\n", PROSE, "<html>\n<p>hello</p>\n</html>\n", "{\n}\n"],
)
def test_prose_is_no_log_and_says_what_would_be(chats, text):
    path = chats.file("README", text)

    with pytest.raises(ImportFileError, match="README is no chat log: expected"):
        chats.read(path)


@pytest.mark.parametrize(
    "text",
    [
        "ann: hi\n",
        "Old Man Jenkins: get off\nmy lawn\n",
        "--- Log opened Sun May 07 23:00:00 2023\n10:01 -!- cy has joined\n10:02 <cy> hi\n",
        "[14:03] ann: a long story\n" + "that goes on\n" * 8,
        "<ann> hi\n* bob waves\n",
    ],
)
def test_a_log_is_known_by_its_lines(chats, text):
    assert detect(chats.file("chat.txt", text)) == "log"


def test_a_line_longer_than_any_message_is_skipped(chats):
    long = "ann: " + "x" * (16 * 1024 * 1024 + 1)

    events, skipped = chats.read(chats.file("l.log", f"ann: hi\n{long}\nbob: yo\n"), "log")
    assert [one.content for one in events] == ["hi", "yo"]
    assert [(one.where, one.reason) for one in skipped] == [("line 2", "is too long")]


@given(st.lists(st.tuples(st.integers(0, 23), st.integers(0, 59)), min_size=1, max_size=20))
@settings(max_examples=100, deadline=None)
def test_no_message_comes_after_the_writing(tmp_path_factory, clocks):
    path = tmp_path_factory.mktemp("logs") / "chat.log"
    path.write_text("".join(f"[{hour:02}:{minute:02}] ann: x\n" for hour, minute in clocks))
    os.utime(path, (WRITTEN.timestamp(), WRITTEN.timestamp()))

    found = list(read(path, Options(agent_id="bot")))
    assert len(found) == len(clocks)
    assert found[-1].timestamp <= WRITTEN
    assert WRITTEN - found[-1].timestamp < timedelta(days=1)
