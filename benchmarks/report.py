"""One table on the terminal, one JSON file on disk."""

from __future__ import annotations

import json
import os
import platform
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table


def machine() -> dict[str, Any]:
    """What the numbers were measured on."""
    return {
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "numpy": np.__version__,
        "cores": os.cpu_count(),
        "processor": platform.processor() or platform.machine(),
        "load": round(os.getloadavg()[0], 2),
    }


def show(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print one table."""
    table = Table(title=title, title_justify="left")
    for number, column in enumerate(columns):
        table.add_column(column, justify="left" if number == 0 else "right")
    for row in rows:
        table.add_row(*(f"{cell:.3g}" if isinstance(cell, float) else str(cell) for cell in row))
    # A pipe has no width; a table cut to eighty columns would hide its numbers.
    console = Console()
    (console if console.is_terminal else Console(width=160)).print(table)


def write(path: Path | None, results: Mapping[str, Any]) -> None:
    """Write the numbers, and the machine they are from, as JSON."""
    if path is not None:
        document = {"machine": machine(), **results}
        path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def percentiles(seconds: Sequence[float]) -> dict[str, float]:
    """p50, p95, p99 and max, in milliseconds."""
    ms = np.asarray(seconds) * 1000
    return {
        "p50": float(np.percentile(ms, 50)),
        "p95": float(np.percentile(ms, 95)),
        "p99": float(np.percentile(ms, 99)),
        "max": float(ms.max()),
    }


def rss_mb() -> float:
    """Resident MiB of this process; not a number where there is no /proc."""
    status = Path("/proc/self/status")
    for line in status.read_text(encoding="utf-8").splitlines() if status.exists() else ():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return float("nan")
