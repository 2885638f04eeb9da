from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_plugin.recall.timing import MOST_SPANS, find_spans

NOW = datetime(2023, 6, 14, 15, 30, tzinfo=UTC)  # a Wednesday


def shown(moment):
    if moment is None:
        return ""
    return moment.strftime("%Y-%m-%d" if moment.time() == datetime.min.time() else "%Y-%m-%d %H:%M")


def windows(text, now=NOW):
    """The likeliest window of each time in a text, as ``since..until``."""
    return [f"{shown(span[0].since)}..{shown(span[0].until)}" for span in find_spans(text, now)]


@pytest.mark.parametrize(
    ("text", "window"),
    [
        ("what did he do today", "2023-06-14..2023-06-15"),
        ("what did he do yesterday?", "2023-06-13..2023-06-14"),
        ("the day before yesterday", "2023-06-12..2023-06-13"),
        ("this morning", "2023-06-14 05:00..2023-06-14 12:00"),
        ("what was that this afternoon", "2023-06-14 12:00..2023-06-14 18:00"),
        ("tonight", "2023-06-14 18:00..2023-06-15 06:00"),
        ("last night", "2023-06-13 18:00..2023-06-14 06:00"),
        ("yesterday evening", "2023-06-13 17:00..2023-06-14"),
        ("who came last week", "2023-06-05..2023-06-12"),
        ("this week", "2023-06-12..2023-06-19"),
        ("the week before last", "2023-05-29..2023-06-05"),
        ("last weekend", "2023-06-10..2023-06-12"),
        ("the weekend before last", "2023-06-03..2023-06-05"),
        ("last month", "2023-05-01..2023-06-01"),
        ("this month", "2023-06-01..2023-07-01"),
        ("last year", "2022-01-01..2023-01-01"),
        ("the year before last", "2021-01-01..2022-01-01"),
        ("last Friday", "2023-06-09..2023-06-10"),
        ("on Friday", "2023-06-09..2023-06-10"),
        ("Friday evening", "2023-06-09 17:00..2023-06-10"),
        ("on Wednesday", "2023-06-14..2023-06-15"),
        ("last Wednesday", "2023-06-07..2023-06-08"),
        ("3 days ago", "2023-06-11..2023-06-12"),
        ("a week ago", "2023-06-04..2023-06-11"),
        ("two weeks ago", "2023-05-28..2023-06-04"),
        ("a couple of days ago", "2023-06-11..2023-06-14"),
        ("an hour ago", "2023-06-14 13:30..2023-06-14 15:30"),
        ("half an hour ago", "2023-06-14 14:00..2023-06-14 16:00"),
        ("the last 3 days", "2023-06-11 15:30..2023-06-14 15:30"),
        ("over the past two weeks", "2023-05-31 15:30..2023-06-14 15:30"),
        ("in the last month", "2023-05-15 04:56..2023-06-14 15:30"),
        ("what happened in May", "2023-05-01..2023-06-01"),
        ("in may", "2023-05-01..2023-06-01"),
        ("in August", "2022-08-01..2022-09-01"),
        ("last July", "2022-07-01..2022-08-01"),
        ("in June", "2023-06-01..2023-07-01"),
        ("last June", "2022-06-01..2022-07-01"),
        ("her July vacation", "2022-07-01..2022-08-01"),
        ("in Sept. 2022", "2022-09-01..2022-10-01"),
        ("in May 2021", "2021-05-01..2021-06-01"),
        ("in May of 2021", "2021-05-01..2021-06-01"),
        ("early May", "2023-05-01..2023-05-11 08:00"),
        ("at the end of 2022", "2022-09-01 08:00..2023-01-01"),
        ("on 7 May 2023", "2023-05-07..2023-05-08"),
        ("on the 7th of May, 2023", "2023-05-07..2023-05-08"),
        ("May 7th", "2023-05-07..2023-05-08"),
        ("May 7, 2021", "2021-05-07..2021-05-08"),
        ("on December 24", "2022-12-24..2022-12-25"),
        ("February 29", "2020-02-29..2020-03-01"),
        ("30 February 2022", "2022-02-01..2022-03-01"),
        ("7-9 May 2022", "2022-05-07..2022-05-10"),
        ("between 3 and 7 May 2022", "2022-05-03..2022-05-08"),
        ("May 3 to 5", "2023-05-03..2023-05-06"),
        ("2023-05-07", "2023-05-07..2023-05-08"),
        ("2023-05", "2023-05-01..2023-06-01"),
        ("12/25/2022", "2022-12-25..2022-12-26"),
        ("25.12.2022", "2022-12-25..2022-12-26"),
        ("in 2021", "2021-01-01..2022-01-01"),
        ("2019-2021", "2019-01-01..2022-01-01"),
        ("last summer", "2022-06-01..2022-09-01"),
        ("in the fall", "2022-09-01..2022-12-01"),
        ("the summer of 2021", "2021-06-01..2021-09-01"),
        ("winter 2021", "2021-12-01..2022-03-01"),
        ("since March", "2023-03-01.."),
        ("since yesterday", "2023-06-13.."),
        ("after March 2022", "2022-04-01.."),
        ("before March", "..2023-03-01"),
        ("until last week", "..2023-06-05"),
        ("between June and August 2022", "2022-06-01..2022-09-01"),
        ("from December to February", "2022-12-01..2023-03-01"),
        ("from November 2021 to February 2022", "2021-11-01..2022-03-01"),
        ("between 2020 and 2022", "2020-01-01..2023-01-01"),
        ("the week before 3 August 2022", "2022-07-23 12:00..2022-08-03"),
        ("two weeks before August 11, 2022", "2022-07-24 12:00..2022-08-04"),
        ("last weekend before April 10, 2023", "2023-03-30 12:00..2023-04-10"),
        ("the day after 7 May 2023", "2023-05-08..2023-05-09 12:00"),
        ("last week before the party", "2023-06-05..2023-06-12"),
    ],
)
def test_a_time_in_a_query_becomes_a_window(text, window):
    found = windows(text)

    assert found == [window]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "what may I do",
        "they march on",
        "did he fall",
        "it springs to mind",
        "ask April",
        "what did June say",
        "room 99",
        "the score was 2,022",
        "she paid $2000",
        "version 1.2.2022.7",
        "at 5:30",
        "call 5551-12",
        "31/31/2022",
        "500000 years ago",
        "9999 years ago",
        "the second day",
        "lastly",
    ],
)
def test_what_is_no_time_is_taken_for_none(text):
    found = windows(text)

    assert found == []


def test_several_times_are_several_spans():
    found = windows("was it yesterday or in May 2021?")

    assert found == ["2023-06-13..2023-06-14", "2021-05-01..2021-06-01"]


def test_a_month_without_a_year_can_also_be_that_of_an_earlier_year():
    (span,) = find_spans("in May", NOW)

    assert [window.since.year for window in span[:3]] == [2023, 2022, 2021]


def test_a_day_that_can_be_read_in_two_orders_is_read_in_both():
    (span,) = find_spans("on 10/12/2022", NOW)

    assert [shown(window.since) for window in span] == ["2022-10-12", "2022-12-10"]


def test_days_begin_where_the_asker_is():
    now = datetime(2023, 6, 14, 3, 0, tzinfo=timezone(timedelta(hours=9)))

    ((window,),) = find_spans("yesterday", now)

    assert window.since == datetime(2023, 6, 12, 15, tzinfo=UTC)
    assert window.until == datetime(2023, 6, 13, 15, tzinfo=UTC)


def test_a_day_on_which_the_clock_changes_is_a_day_by_the_clock():
    now = datetime(2023, 3, 27, 12, tzinfo=ZoneInfo("Europe/Berlin"))

    ((window,),) = find_spans("yesterday", now)

    # Local midnights, in UTC 23 hours apart.
    assert window.since.astimezone(UTC) == datetime(2023, 3, 25, 23, tzinfo=UTC)
    assert window.until.astimezone(UTC) == datetime(2023, 3, 26, 22, tzinfo=UTC)


def test_a_very_long_text_names_only_so_many_times():
    found = find_spans("yesterday " * 10_000, NOW)

    assert len(found) == MOST_SPANS


PIECES = """last week may 7 2023 between and before since 31 99999 ago days a two - / . , summer of
    the end friday 2023-05-07 february 29 to in year"""


@given(
    st.lists(st.sampled_from(PIECES.split()), max_size=12).map(" ".join),
    st.datetimes(timezones=st.just(UTC)),
)
def test_windows_never_end_before_they_begin(text, now):
    spans = find_spans(text, now)

    for span in spans:
        assert span
        for window in span:
            if window.since is not None and window.until is not None:
                assert window.since < window.until


@given(st.text(max_size=60))
def test_any_text_may_be_asked(text):
    spans = find_spans(text, NOW)

    assert len(spans) <= MOST_SPANS
