"""Recall: from columns of candidates to the best of them, with reasons."""

from memory_plugin.recall.asking import Query, parse_query
from memory_plugin.recall.people import rank_person
from memory_plugin.recall.ranking import Ranked, rank

__all__ = ["Query", "Ranked", "parse_query", "rank", "rank_person"]
