"""A release: all of the package is in its wheel, and the checklist stops where it should."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from meshwright import __version__
from release import __main__ as checklist
from release.wheel import build, missing


def test_all_files_of_the_package_are_in_the_wheel(tmp_path: Path) -> None:
    assert missing(build(tmp_path)) == []


def test_a_file_that_is_not_in_a_wheel_is_named(tmp_path: Path) -> None:
    wheel = tmp_path / "empty.whl"
    with zipfile.ZipFile(wheel, "w") as packed:
        packed.writestr("meshwright/__init__.py", "")
    absent = missing(wheel)
    assert "meshwright/dashboard/browser/style.css" in absent
    assert "meshwright/__init__.py" not in absent


@pytest.mark.parametrize(
    ("heading", "says"),
    [
        (f"## {__version__}, 2026-12-01", None),
        (f"## {__version__}, unreleased", "write the day"),
        (f"## 9.{__version__}, 2026-12-01", "have CHANGELOG.md begin with"),
        ("", "have CHANGELOG.md begin with"),
    ],
)
def test_the_changelog_must_name_the_version_and_the_day(
    heading: str, says: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "CHANGELOG.md").write_text(f"# Changelog\n\n{heading}\n\n- All of it.\n")
    monkeypatch.setattr(checklist, "ROOT", tmp_path)
    objection = checklist.unnamed()
    assert objection is says or (says is not None and says in str(objection))


def test_the_first_step_that_fails_ends_the_checklist(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    steps = [("the first", None), ("the second", "mend it"), ("the third", None)]
    monkeypatch.setattr(
        checklist, "STEPS", [checklist.Step(claim, lambda said=said: said) for claim, said in steps]
    )
    assert checklist.main() == 1
    printed = capsys.readouterr().out
    assert "2/3 the second ...\nNo: mend it" in printed
    assert "the third" not in printed
