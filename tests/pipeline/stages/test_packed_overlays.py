from __future__ import annotations

import msgspec
import numpy as np
import pyarrow as pa
import pytest

from meshwright.model.designs import DESIGNS
from meshwright.model.identifiers import BrokerName, TopicName
from meshwright.model.interests import interests_from_pairs
from meshwright.model.overlay import Overlay
from meshwright.model.snapshot import Snapshot
from meshwright.pipeline.stages.packed_overlays import PackedOverlays, packed_batches
from meshwright.planning.succession import EpochRules, follow

NAMES = tuple(BrokerName(f"b{number}") for number in range(9))
ROWS, COLUMNS = np.nonzero(np.random.default_rng(0).random((9, 6)) < 0.5)
SNAPSHOT = Snapshot(
    NAMES,
    tuple(TopicName(f"t{number}") for number in range(6)),
    interests_from_pairs(ROWS, COLUMNS, 9, 6),
    np.ones(6),
)


def again(overlay: Overlay) -> Overlay:
    """An overlay that was packed and unpacked."""
    document = msgspec.json.encode(overlay).decode()
    batch = pa.RecordBatch.from_pylist([{"epoch": 3, "overlay": document}])
    [packed] = packed_batches(NAMES)(iter([batch]))
    assert packed["epoch"].to_pylist() == [3]
    return PackedOverlays(NAMES, tuple(packed["packed"].to_pylist()), {}).unpacked(0)


@pytest.mark.parametrize("design", DESIGNS)
def test_an_overlay_that_is_packed_loses_nothing(design: str) -> None:
    overlay = follow(design, None, SNAPSHOT, EpochRules(), seed=0).overlay
    assert again(overlay) == overlay


def test_an_overlay_keeps_its_own_order_of_brokers() -> None:
    overlay = Overlay(design="tree", brokers=NAMES[::-1], links=((NAMES[4], NAMES[0]),))
    assert again(overlay) == overlay
