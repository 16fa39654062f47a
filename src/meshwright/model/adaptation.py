"""What an operator may choose of how a tree fits itself to its traffic [OCBR]."""

from __future__ import annotations

from typing import NamedTuple

import msgspec


class AdaptationOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The weights of cost, and the effort of the search; all are whole numbers, so costs are exact.

    link_weight, broker_weight: alpha and beta. iterations, moves_max: n and N of the tabu search.
    degree_max: links that a broker may come to have, 0 for any number; without a limit equal costs
    make a star of any tree. move_clients: whether a broker may hand its clients to its neighbours.
    """

    link_weight: int = 1
    broker_weight: int = 1
    iterations: int = 50
    moves_max: int = 50
    degree_max: int = 8
    move_clients: bool = False


class LinkCost(NamedTuple):
    """What a message pays on a link between two brokers, or a broker and a client."""

    one: str
    other: str
    cost: int


class BrokerCost(NamedTuple):
    """What a message pays at a broker."""

    broker: str
    cost: int


class StatedCosts(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Costs of links and brokers by name; those that are not named cost 1."""

    links: tuple[LinkCost, ...] = ()
    brokers: tuple[BrokerCost, ...] = ()
