from __future__ import annotations

import pytest

from meshwright.cli.console.times import duration_s, lasting


@pytest.mark.parametrize(
    ("seconds", "text"), [(2.0, "2 s"), (90.0, "1.5 min"), (3_600.0, "1 h"), (86_400.0, "24 h")]
)
def test_durations_are_told_as_they_are_written(seconds: float, text: str) -> None:
    assert lasting(seconds) == text
    assert duration_s(text) == seconds
