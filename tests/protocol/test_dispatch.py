"""Everything that may come to a broker has one method that takes it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from meshwright import protocol
from meshwright.model.overlay import Overlay
from meshwright.protocol.assembly import MESSAGES
from meshwright.protocol.broker import Broker
from meshwright.protocol.foundation.dispatch import on_event, table_of
from meshwright.protocol.foundation.events import Event, LinkUp, RightsChanged, Started
from meshwright.protocol.foundation.turn import Turn
from meshwright.protocol.peers.conversations import Envelope, Hello
from meshwright.protocol.settings import BrokerSettings

BROKERS = ("b0", "b1")
OVERLAY = Overlay(design="cycle", brokers=BROKERS, links=(BROKERS,))


def started(name: str) -> Broker:
    """A broker of the network, or one that asks to be let in."""
    broker = Broker(name, BrokerSettings(), OVERLAY)
    broker.step(0, Started(1, {}))
    return broker


def test_each_message_of_a_peer_has_a_method() -> None:
    handled = started("b0")._machines._handlers
    assert set(handled) == set(MESSAGES) - {Envelope, Hello}


@pytest.mark.parametrize("name", ["b0", "newcomer"])
def test_each_event_after_the_start_has_a_method(name: str) -> None:
    broker = started(name)
    assert broker.belongs == (name in BROKERS)
    assert set(broker._doors) == set(Event.__subclasses__()) - {Started}


def test_rights_may_change_while_a_broker_asks_to_be_let_in() -> None:
    assert started("newcomer").step(1, RightsChanged()) == []


def test_nothing_is_for_two_methods() -> None:
    def up(turn: Turn, event: LinkUp) -> None:
        del turn, event

    with pytest.raises(AssertionError, match="LinkUp is for two methods"):
        table_of(on_event(LinkUp, up), on_event(LinkUp, up))


def test_no_table_of_methods_is_made_past_the_eyes_of_mypy() -> None:
    folder = Path(protocol.__path__[0])
    untyped = re.compile(r"(dict|Mapping)\[type, Callable\[\[Turn")
    found = [path.name for path in sorted(folder.rglob("*.py")) if untyped.search(path.read_text())]
    assert found == []
