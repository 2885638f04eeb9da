"""Every choice a user can make, in one frozen value built from a plain mapping."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, get_args

from memory_plugin.errors import SettingsError

Synchronous = Literal["normal", "full"]

PATH_VARIABLE = "MEMORY_PLUGIN_PATH"
MODEL_DIR_VARIABLE = "MEMORY_PLUGIN_MODEL_DIR"


def _user_dir(variable: str, fallback: str) -> Path:
    return Path(os.environ.get(variable) or Path.home() / fallback) / "memory-plugin"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How a memory is opened. Every field has a default that works.

    path: the SQLite file; its folder must exist.
    model: ``"auto"`` finds a model (see `memory_plugin.embedding`), ``"none"`` is words only.
    model_dir: a folder with an ONNX model and its tokenizer, used instead of any other.
    model_cache: where a built or downloaded model is kept.
    allow_download: fetch the pinned model when none is installed.
    synchronous: ``"normal"`` survives a killed process; ``"full"`` survives a power cut too, for
        one disk flush per commit.
    plugins: modules or ``module:attribute`` names to load, first has the first word.
    blocked_plugins: names of installed plugins that must not be loaded.
    hook_timeout_s: how long an async hook of another package may take; `respond` has no limit.
    window_messages, window_actions: size of a working window, per place.
    windows: how many places keep a window in RAM.
    cache_mb: RAM for recently searched events and their vectors, in MB.
    context_tokens: default budget of a context.
    """

    path: Path = Path("memory.sqlite3")
    model: Literal["auto", "none"] = "auto"
    model_dir: Path | None = None
    model_cache: Path | None = None
    allow_download: bool = False
    synchronous: Synchronous = "normal"
    plugins: tuple[str, ...] = ()
    blocked_plugins: tuple[str, ...] = ()
    hook_timeout_s: float = 5.0
    window_messages: int = 20
    window_actions: int = 50
    windows: int = 1000
    cache_mb: int = 128
    context_tokens: int = 1500

    def __post_init__(self) -> None:
        for name in ("path", "model_dir", "model_cache"):
            value = getattr(self, name)
            if isinstance(value, str | os.PathLike):
                try:
                    object.__setattr__(self, name, Path(value).expanduser())
                except RuntimeError as fault:
                    raise SettingsError(f"{name} {value!r}: {fault}") from fault
            elif value is not None or name == "path":
                raise SettingsError(f"{name} must be a path, not {value!r}")
        for name in ("plugins", "blocked_plugins"):
            value = getattr(self, name)
            if not isinstance(value, list | tuple) or not all(
                isinstance(one, str) for one in value
            ):
                raise SettingsError(f"{name} must be a list of names, not {value!r}")
            object.__setattr__(self, name, tuple(value))
        _check_choice("model", self.model, ("auto", "none"))
        _check_choice("synchronous", self.synchronous, get_args(Synchronous))
        if not isinstance(self.allow_download, bool):
            raise SettingsError(
                f"allow_download must be true or false, not {self.allow_download!r}"
            )
        for name in ("window_messages", "window_actions", "windows", "cache_mb", "context_tokens"):
            _check_number(name, getattr(self, name), int)
        _check_number("hook_timeout_s", self.hook_timeout_s, float)

    @classmethod
    def from_mapping(
        cls, mapping: Mapping[str, Any], environment: Mapping[str, str] | None = None
    ) -> Settings:
        """Settings from lower-case keys; an unknown key is an error that names the near match.

        `environment` may override the two paths (``MEMORY_PLUGIN_PATH``,
        ``MEMORY_PLUGIN_MODEL_DIR``); only adapters and the command line pass it.
        """
        if not isinstance(mapping, Mapping):
            raise SettingsError(f"settings must be a mapping of names to values, not {mapping!r}")
        known = [one.name for one in fields(cls)]
        for key in mapping:
            if key not in known:
                near = difflib.get_close_matches(str(key), known, n=1)
                hint = f"; did you mean {near[0]!r}?" if near else ""
                raise SettingsError(f"unknown setting {key!r}{hint}")
        chosen = dict(mapping)
        for variable, name in ((PATH_VARIABLE, "path"), (MODEL_DIR_VARIABLE, "model_dir")):
            if environment and environment.get(variable):
                chosen[name] = environment[variable]
        return cls(**chosen)

    def cache_dir(self) -> Path:
        """Where models are kept: `model_cache`, or the user's cache folder."""
        return self.model_cache or _user_dir("XDG_CACHE_HOME", ".cache")


def _check_choice(name: str, value: object, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise SettingsError(f"{name} must be one of {', '.join(allowed)}, not {value!r}")


def _check_number(name: str, value: object, kind: type[int | float]) -> None:
    allowed = (int, float) if kind is float else (int,)
    if isinstance(value, bool) or not isinstance(value, allowed) or not 0 < value < 1e9:
        raise SettingsError(f"{name} must be a number above zero, not {value!r}")
