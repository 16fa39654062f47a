"""The checklist of a release: each step is printed, and the first that fails ends it.

`make release-check` walks through it. What is left to do by hand is said in the end.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

from book.contents import ROOT
from meshwright import __version__

HEADING = re.compile(r"^## (\S+?)(?:, (.+))?$", re.MULTILINE)
DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
FAILED = 1


@dataclass(frozen=True, slots=True)
class Step:
    """What must be so, and what finds out: None if it is, else what to do."""

    claim: str
    objection: Callable[[], str | None]


def unclean() -> str | None:
    """Files that no commit has."""
    found = _said("git", "status", "--porcelain")
    return f"commit or remove these first:\n{found}" if found else None


def unnamed() -> str | None:
    """The newest heading of the changelog, if it does not name this version and its day."""
    newest = HEADING.search((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    if newest is None or newest[1] != __version__:
        return f"have CHANGELOG.md begin with: ## {__version__}, YEAR-MONTH-DAY"
    if DATE.fullmatch(newest[2] or "") is None:
        return f"write the day of the release where CHANGELOG.md says: {newest[0]}"
    return None


def tagged() -> str | None:
    """A tag that has this version already."""
    if _said("git", "tag", "--list", f"v{__version__}"):
        return f"v{__version__} is out: choose the next in src/meshwright/__init__.py"
    return None


def make(verb: str) -> Callable[[], str | None]:
    """What make says, if it is not content."""

    def objection() -> str | None:
        code = subprocess.run(["make", "--silent", verb], cwd=ROOT, check=False).returncode
        return f"make {verb} failed, see above" if code else None

    return objection


STEPS = (
    Step("all changes are committed", unclean),
    Step("the changelog names this version and its day", unnamed),
    Step("no release has this version", tagged),
    Step("format, lint, types and directions", make("check")),
    Step("the book is made without a warning", make("docs")),
    Step("the wheel installs by pip alone, and answers", make("wheel")),
    Step("all tests", make("test")),
    Step("the dashboard in a browser", make("test-browser")),
    Step("the steps left no change behind", unclean),
)


def _said(*words: str) -> str:
    return subprocess.run(words, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def main() -> int:
    """Walk through all steps."""
    for number, step in enumerate(STEPS, 1):
        print(f"{number}/{len(STEPS)} {step.claim} ...", flush=True)
        began = time.monotonic()
        if objection := step.objection():
            print(f"No: {objection}")
            return FAILED
        print(f"    yes, after {time.monotonic() - began:.0f} s", flush=True)
    print(
        f"Meshwright {__version__} may go out. By hand: git tag v{__version__}, push it, publish "
        "dist/ and build/docs, begin the next heading of CHANGELOG.md."
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
