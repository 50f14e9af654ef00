"""Writes `session.jsonl`: the sample session that `compactd demo` walks.

    python3 generate.py            writes the file
    python3 generate.py --check    fails if the file is not what would be written

The story is told in `story.py`; the project that it works on lies in `project/`. Nothing here depends on the clock,
the machine or the network, so the same story gives the same bytes.
"""

from __future__ import annotations

import sys
from pathlib import Path

from session import Session
from story import tell

HERE = Path(__file__).parent


def main() -> int:
    target = HERE / "session.jsonl"
    text = tell(Session(HERE / "project")).text()
    if "--check" in sys.argv[1:]:
        return 0 if target.read_text(encoding="utf-8") == text else 1
    target.write_text(text, encoding="utf-8")
    print(f"{target.name}: {text.count(chr(10)) - 1} entries, {len(text.encode())} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
