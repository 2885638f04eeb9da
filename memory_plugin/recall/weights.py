"""What each piece of evidence is worth, in points of a logistic function.

One point makes an event 2.7 times as likely as another to be the answer. The weights were fitted
on questions with known answers about long conversations, each conversation left out in turn,
together with the same conversations cut into bursts of short lines, all of them in one memory,
and without a model; then they were rounded.
"""

from __future__ import annotations

from typing import Final

import numpy as np

WORDS: Final = np.float32(5.5)
# Not fitted: more than all else together can say for another row.
QUOTED: Final = np.float32(12.0)
# For each spread above the mean.
MEANING: Final = np.float32(0.5)
# Of another's question that the event answers.
ASKED_WORDS: Final = np.float32(2.15)
ASKED_MEANING: Final = np.float32(0.33)
SESSION: Final = np.float32(1.0)
NAMED: Final = np.float32(0.7)
# It lies in a time that the query names.
INSIDE: Final = np.float32(4.3)
# The query asks for a time and the event tells one.
WHEN: Final = np.float32(2.75)
# For the logarithm of the number of words: short lines are near to everything.
LENGTH: Final = np.float32(0.9)
QUESTION: Final = np.float32(-0.7)
# For each point above 5.
IMPORTANCE: Final = np.float32(0.12)
# Not fitted: the questions with known answers do not say when they are asked.
FRESH: Final = np.float32(1.0)

# How likely it is that there is an answer at all: the more of the query the best event matches
# in words and in meaning, the likelier.
ANSWERED: Final = -0.85
COVERED: Final = 1.8
WITH_MODEL: Final = -2.0
NEAREST: Final = 3.7
# That likelihood is shared with the best competitors, among them one that stands for "none".
COMPETITORS: Final = 20
NOTHING: Final = 9.0
