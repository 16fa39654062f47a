from __future__ import annotations

from pathlib import Path

from meshwright.cli.console.spark import SHORT_WORK_BYTES_MAX, is_short_work


def test_work_is_short_while_its_files_are_small_together(tmp_path: Path) -> None:
    table = tmp_path / "trace" / "positions"
    table.mkdir(parents=True)
    for name, size in (("one", SHORT_WORK_BYTES_MAX), ("two", 1)):
        with (table / name).open("wb") as file:
            file.truncate(size)
    assert is_short_work(table / "one")
    assert is_short_work(table / "two")
    assert not is_short_work(table / "one", table / "two")
    assert not is_short_work(tmp_path / "trace")
