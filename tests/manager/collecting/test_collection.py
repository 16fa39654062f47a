from __future__ import annotations

from pathlib import Path

import pytest

from meshwright.manager.collecting.collection import Collection
from meshwright.manager.network.running import RunningNetwork
from meshwright.manager.settings import WindowSettings
from meshwright.model.times import SECOND_US


@pytest.mark.parametrize("is_read", [True, False])
def test_files_are_let_go_unless_a_plan_is_being_made_of_them(
    tmp_path: Path, is_read: bool
) -> None:
    network = RunningNetwork(tmp_path)
    network.views = dict  # no broker says anything
    collection = Collection(tmp_path, network, WindowSettings(length_s=1.0))
    first = collection.collect(SECOND_US)
    assert first.silent == {}
    old = tmp_path / "trace" / "connections" / "b1-1-000001.parquet"
    old.parent.mkdir()
    old.touch()
    collection.collect(122 * SECOND_US, is_read=is_read)
    assert old.exists() == is_read
    span = collection.span()
    assert span is not None
    assert span.until_us == 122 * SECOND_US
    collection.collect(123 * SECOND_US)
    assert not old.exists()
