"""link-costs.csv and broker-costs.csv: what a message pays on a link and at a broker."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from meshwright.files.tables import TableRow, read_table
from meshwright.model.adaptation import BrokerCost, LinkCost, StatedCosts

LINK_COLUMNS = ("one", "other", "cost")
BROKER_COLUMNS = ("broker", "cost")


def read_costs(
    links: Path | None, brokers: Path | None, known: Collection[str] | None = None
) -> StatedCosts:
    """The costs of two files, either of which may be missing; known: who may be named, if given."""
    return StatedCosts(
        links=() if links is None else _link_costs(links, known),
        brokers=() if brokers is None else _broker_costs(brokers, known),
    )


def _link_costs(path: Path, known: Collection[str] | None) -> tuple[LinkCost, ...]:
    found: dict[frozenset[str], LinkCost] = {}
    for row in read_table(path, LINK_COLUMNS):
        stated = LinkCost(_name(row, 0, known), _name(row, 1, known), row.count(2, "cost"))
        if stated.one == stated.other:
            raise row.fault(f"{stated.one!r} is linked with itself", "name two ends")
        if found.setdefault(frozenset(stated[:2]), stated) is not stated:
            raise row.fault("this link has a cost already", "state it once, for both directions")
    return tuple(found.values())


def _broker_costs(path: Path, known: Collection[str] | None) -> tuple[BrokerCost, ...]:
    found: dict[str, BrokerCost] = {}
    for row in read_table(path, BROKER_COLUMNS):
        stated = BrokerCost(_name(row, 0, known), row.count(1, "cost"))
        if found.setdefault(stated.broker, stated) is not stated:
            raise row.fault(f"broker {stated.broker!r} has a cost already", "state it once")
    return tuple(found.values())


def _name(row: TableRow, column: int, known: Collection[str] | None) -> str:
    name = row.name(column, "broker")
    if known is not None and name not in known:
        raise row.fault(f"{name!r} is no broker of the tree and no client", "correct the name")
    return name
