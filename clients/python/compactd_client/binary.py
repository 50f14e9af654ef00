"""Finds the program that a client starts."""

from __future__ import annotations

import os
import shutil
import sysconfig
from collections.abc import Iterator, Mapping
from pathlib import Path

PROGRAM = "compactd"


class BinaryNotFound(FileNotFoundError):
    """There is no program `compactd` to start. The message says what to do."""


def find_binary(env: Mapping[str, str] | None = None) -> str:
    """The path of the program: what COMPACTD_BIN names, else the one that pip installed with this
    package, else `compactd` on the path. `env` is that of this process by default.

    Raises BinaryNotFound if there is none.
    """
    env = os.environ if env is None else env
    installed = (str(path) for path in _installed() if path.is_file())
    found = env.get("COMPACTD_BIN") or next(installed, None) or shutil.which(PROGRAM, path=env.get("PATH", ""))
    if found is None:
        raise BinaryNotFound(
            "no program compactd was found: this package was installed without it, and COMPACTD_BIN is not set. "
            "Install a wheel for this platform with `pip install compactd-client`, or build the program with "
            "`cargo install compactd`, or set COMPACTD_BIN to its path."
        )
    return found


def _installed() -> Iterator[Path]:
    """Where pip puts programs: of this environment, of the person, and beside a target directory."""
    yield Path(sysconfig.get_path("scripts")) / PROGRAM
    yield Path(sysconfig.get_path("scripts", sysconfig.get_preferred_scheme("user"))) / PROGRAM
    yield Path(__file__).parent.parent / "bin" / PROGRAM
