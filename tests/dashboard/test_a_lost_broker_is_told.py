"""What pages say of a broker that is lost: what is not known is not told as nothing."""

from __future__ import annotations

import msgspec
import pytest

pytest.importorskip("nicegui")

from meshwright.dashboard.pages import overlay, overview
from meshwright.dashboard.wording import clock
from meshwright.manager.views.figures import Point
from meshwright.manager.views.network_state import BrokerState, NetworkState, TopicPage
from meshwright.manager.views.whereabouts import ClientPage

LOST_US = 1_700_000_000_000_000
ALIVE = BrokerState(broker="b0", epoch=1, is_alive=True, clients=4, adaptation="off")
LOST = BrokerState(
    broker="b1", epoch=-1, is_alive=False, clients=0, adaptation="", lost_since_us=LOST_US
)
STATE = NetworkState(epoch=1, design="chord", links=(("b0", "b1"),), brokers=(ALIVE, LOST))


def test_of_a_lost_broker_it_is_said_since_when_and_that_its_clients_are_not_known() -> None:
    nobody, nothing = ClientPage(total=0, clients=(), recent=()), TopicPage(total=0, topics=())
    shown = overlay._broker(LOST, STATE, nobody, nothing)
    assert f"lost since {clock(LOST_US)}" in shown
    assert "not known: its sessions wait there" in shown
    assert "0 connected" not in shown
    assert "0 messages" not in shown


def test_where_no_k_is_promised_the_card_says_so() -> None:
    card = next(one for one in overview.FIGURES if one.title.startswith("k held"))
    zeros = dict.fromkeys(Point.__struct_fields__, 0)
    assert card.told(msgspec.convert({**zeros, "k_held": None}, Point)) == "not promised"
    assert card.told(msgspec.convert({**zeros, "k_held": 2}, Point)) == "2"


def test_cards_and_the_sentence_count_those_who_are_there_by_the_same_look() -> None:
    zeros = dict.fromkeys(Point.__struct_fields__, 0)
    point = msgspec.convert({**zeros, "brokers": 2, "clients": 9}, Point)
    at = overview._as_of(STATE, point)
    told = overview._story(STATE, at, ())
    assert "<b>1 broker</b>" in told
    assert "<b>4 clients</b>" in told
    assert [one.told(at) for one in overview.FIGURES[:2]] == ["1", "4"]
