"""Where the program is found."""

from __future__ import annotations

import tempfile
import unittest
from pathlib import Path

from compactd_client import BinaryNotFound, Client, find_binary


class BinaryTest(unittest.TestCase):
    """The order of the places, and what is said where there is no program."""

    def test_the_variable_comes_before_the_path(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            program = Path(directory) / "compactd"
            program.touch(0o755)
            self.assertEqual(find_binary({"PATH": directory}), str(program))
            self.assertEqual(find_binary({"PATH": directory, "COMPACTD_BIN": "/elsewhere"}), "/elsewhere")

    def test_without_a_program_the_error_says_what_to_do(self) -> None:
        for hint in ("pip install compactd-client", "cargo install compactd", "COMPACTD_BIN"):
            with self.assertRaisesRegex(BinaryNotFound, hint):
                Client(env={"PATH": "/nonexistent"})
