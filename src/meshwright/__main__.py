"""`python -m meshwright` is the command `meshwright`."""

from __future__ import annotations

from meshwright.cli.main import run

run()
