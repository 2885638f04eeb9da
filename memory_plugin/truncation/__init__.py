"""Choosing which events of a window fit a budget. It shortens a view and never deletes."""

from memory_plugin.truncation.algorithms import Fifo, ImportanceWeighted
from memory_plugin.truncation.ties import Ties, find_ties
from memory_plugin.truncation.values import (
    Budget,
    Count,
    Gap,
    Truncated,
    Truncation,
    Why,
    event_cost,
    gap_cost,
    gap_line,
    shown_text,
)

__all__ = [
    "Budget",
    "Count",
    "Fifo",
    "Gap",
    "ImportanceWeighted",
    "Ties",
    "Truncated",
    "Truncation",
    "Why",
    "event_cost",
    "find_ties",
    "gap_cost",
    "gap_line",
    "shown_text",
]
