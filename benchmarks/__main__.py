"""``python -m benchmarks NAME ...``: runs one benchmark."""

from __future__ import annotations

import importlib
import sys

NAMES = ("recall", "speed", "truncation", "writes", "embedding")


def main() -> int:
    """Hand the rest of the command line to the benchmark that is named first."""
    if len(sys.argv) < 2 or sys.argv[1] not in NAMES:
        sys.stderr.write(f"usage: python -m benchmarks {{{','.join(NAMES)}}} ...\n")
        return 2
    done: int = importlib.import_module(f"benchmarks.{sys.argv[1]}").main(sys.argv[2:])
    return done


if __name__ == "__main__":
    sys.exit(main())
