"""How properties are searched: at random by hand, the same examples every time in CI."""

from __future__ import annotations

import os

from hypothesis import settings

# A shared machine may stall for longer than any example takes.
settings.register_profile("by hand", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "by hand")
