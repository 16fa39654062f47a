"""Overlays as numbers, small enough that all of a replay are sent to every task, each once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import msgspec
import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame

from meshwright.files.decoding import decoded
from meshwright.model.overlay import Overlay, Parameter

PACKED = "placement string, epoch long, design string, packed binary"


class _Packed(msgspec.Struct, array_like=True, frozen=True):
    """brokers: the order in which the overlay names them, by number; empty for that of all.

    links: numbers of brokers, two a link, of four bytes each. positions: (broker,) or None.
    """

    design: str
    params: dict[str, Parameter]
    brokers: tuple[int, ...]
    links: bytes
    positions: tuple[int, ...] | None


_PACKED = msgspec.msgpack.Decoder(_Packed)


@dataclass(frozen=True, slots=True, eq=False)
class PackedOverlays:
    """The overlays of a replay by placement and epoch: design, and which of the packed it has.

    packed: each overlay once, however many epochs and placements have it.
    """

    brokers: tuple[str, ...]
    packed: tuple[bytes, ...]
    numbers: dict[tuple[str, int], tuple[tuple[str, int], ...]]

    def unpacked(self, number: int) -> Overlay:
        """One of the overlays."""
        found = _PACKED.decode(self.packed[number])
        ends = np.frombuffer(found.links, dtype="<u4").reshape(-1, 2).tolist()
        return Overlay(
            design=found.design,
            params=found.params,
            brokers=tuple(self.brokers[place] for place in found.brokers) or self.brokers,
            links=tuple((self.brokers[one], self.brokers[other]) for one, other in ends),
            positions=None
            if found.positions is None
            else dict(zip(self.brokers, found.positions, strict=True)),
        )


def packed_overlays(overlays: DataFrame, brokers: tuple[str, ...]) -> PackedOverlays:
    """OVERLAYS, packed where they are and gathered."""
    documents = overlays.select("placement", "epoch", "design", "overlay")
    rows = documents.mapInArrow(packed_batches(brokers), PACKED).toArrow().to_pylist()
    packed: dict[bytes, int] = {}
    numbers: dict[tuple[str, int], list[tuple[str, int]]] = {}
    for row in sorted(rows, key=lambda row: (row["placement"], row["epoch"], row["design"])):
        number = packed.setdefault(row["packed"], len(packed))
        numbers.setdefault((row["placement"], row["epoch"]), []).append((row["design"], number))
    found = {key: tuple(designs) for key, designs in numbers.items()}
    return PackedOverlays(brokers, tuple(packed), found)


def packed_batches(
    brokers: tuple[str, ...],
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Documents in a column overlay as bytes in a column packed."""
    numbers = {name: number for number, name in enumerate(brokers)}

    def packed(document: str) -> bytes:
        overlay = decoded(document, Overlay)
        is_ordered = overlay.brokers == brokers
        order = () if is_ordered else tuple(numbers[name] for name in overlay.brokers)
        ends = np.array([numbers[name] for link in overlay.links for name in link], dtype="<u4")
        places = overlay.positions
        positions = None if places is None else tuple(places[name] for name in brokers)
        found = _Packed(overlay.design, overlay.params, order, ends.tobytes(), positions)
        return msgspec.msgpack.encode(found)

    def pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            bytes_of_each = [packed(document) for document in batch["overlay"].to_pylist()]
            yield batch.drop_columns("overlay").append_column(
                "packed", pa.array(bytes_of_each, pa.binary())
            )

    return pack
