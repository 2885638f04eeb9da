"""What an agent should have in mind, written for a language model within one token budget."""

from memory_plugin.context.ages import age_in_words
from memory_plugin.context.cleaning import clean_name, clean_text
from memory_plugin.context.composing import compose
from memory_plugin.context.parsing import Parsed, Spoken, parse_text
from memory_plugin.context.tracing import explain
from memory_plugin.context.values import Context, Material, Message

__all__ = [
    "Context",
    "Material",
    "Message",
    "Parsed",
    "Spoken",
    "age_in_words",
    "clean_name",
    "clean_text",
    "compose",
    "explain",
    "parse_text",
]
