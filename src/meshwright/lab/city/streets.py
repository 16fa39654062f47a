"""The city of the mobility paper: a full 4-ary tree of brokers, whose leaves lie west to east.

Each leaf covers half a kilometre; clients connect at leaves only. [mobility, 4.1]
"""

from __future__ import annotations

from meshwright.model.identifiers import BrokerName
from meshwright.model.overlay import Overlay, Parameter

FANOUT = 4
BROKERS = tuple(BrokerName(f"b{number:02d}") for number in range(85))
LEAVES = BROKERS[21:]
LEAF_KM = 0.5
CITY_KM = LEAF_KM * len(LEAVES)


def city_overlay(design: str, **params: Parameter) -> Overlay:
    """The city's tree as a design joins it: `hierarchy` is the paper's, `tree` is ours."""
    links = tuple((BROKERS[(child - 1) // FANOUT], BROKERS[child]) for child in range(1, 85))
    if design.startswith("hierarchy"):
        params = {"root": BROKERS[0], **params}
    return Overlay(design=design, params=params, brokers=BROKERS, links=links)


def central(count: int) -> range:
    """The numbers of the leaves in the middle of the city."""
    middle = len(LEAVES) // 2
    return range(middle - count // 2, middle + count // 2)


def leaf_at(position_km: float) -> int:
    """The leaf of a place in the city."""
    return min(int(position_km / LEAF_KM), len(LEAVES) - 1)


def reflected(position_km: float) -> float:
    """Where somebody is who walked straight on and turned back at each end of the city."""
    there_and_back_km = position_km % (2 * CITY_KM)
    return min(there_and_back_km, 2 * CITY_KM - there_and_back_km)
