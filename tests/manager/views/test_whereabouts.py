from __future__ import annotations

import pytest
from broker_views import session, view

from meshwright.errors import OperatorError
from meshwright.manager.views.paths import path_of
from meshwright.manager.views.whereabouts import CONNECTED, FOUND, MOVES_MAX, Whereabouts
from meshwright.model.overlay import Overlay
from meshwright.protocol.inspection import BrokerView

LINE = Overlay(
    design="tree", brokers=("a", "b", "c"), links=(("a", "b"), ("b", "c")), params={"fanout": 2}
)
STAR = Overlay(
    design="tree", brokers=("a", "b", "c"), links=(("a", "b"), ("a", "c")), params={"fanout": 2}
)


def network(**clients: str) -> dict[str, BrokerView]:
    """Clients at brokers; each wants a topic of its name."""
    return {
        name: view(
            name, LINE, [session(one, f"of/{one}") for one, at in clients.items() if at == name]
        )
        for name in LINE.brokers
    }


def test_a_client_is_where_it_is_for_the_reason_that_put_it_there() -> None:
    seen = Whereabouts()
    seen.see(1, network(ann="a", bob="b"), {})
    seen.see(2, network(ann="c", bob="b"), {("ann", "c"): "plan p1 put it here: why not"})
    seen.see(3, network(ann="b", bob="b"), {("ann", "c"): "plan p1 put it here: why not"})
    page = seen.page(network(ann="b", bob="b"))
    ann, bob = page.clients
    assert (ann.broker, ann.since_us, ann.why) == ("b", 3, CONNECTED)
    assert [(one.source, one.target, one.time_us) for one in ann.moves] == [
        ("a", "c", 2),
        ("c", "b", 3),
    ]
    assert ann.moves[0].why == "plan p1 put it here: why not"
    assert (bob.broker, bob.since_us, bob.why, bob.moves) == ("b", 1, FOUND, ())
    assert page.recent == tuple(reversed(ann.moves))
    seen.see(4, network(ann="b", bob="b", eve="a"), {})
    assert seen.page(network(eve="a")).clients[0].why == CONNECTED


def test_a_session_that_moves_is_where_its_client_is_connected() -> None:
    both = network(ann="a")
    both["b"] = view("b", LINE, [session("ann", is_connected=False)])
    seen = Whereabouts()
    seen.see(1, both, {})
    (ann,) = seen.page(both).clients
    assert (ann.broker, ann.is_connected) == ("a", True)


def test_clients_are_found_by_name_by_filter_and_by_broker() -> None:
    seen = Whereabouts()
    now = network(ann="a", bob="b", anton="b")
    names = [one.client for one in seen.page(now, search="AN").clients]
    assert names == ["ann", "anton"]
    assert [one.client for one in seen.page(now, search="of/b").clients] == ["bob"]
    assert [one.client for one in seen.page(now, search="an", broker="b").clients] == ["anton"]
    limited = seen.page(now, limit=1)
    assert (limited.total, len(limited.clients)) == (3, 1)


def test_who_is_gone_is_forgotten_and_moves_do_not_grow_without_end() -> None:
    seen = Whereabouts()
    for number in range(3 * MOVES_MAX):
        seen.see(number, network(ann="ab"[number % 2]), {})
    (ann,) = seen.page(network(ann="b")).clients
    assert len(ann.moves) == MOVES_MAX
    seen.see(100, network(), {})
    seen.see(101, network(ann="a"), {})
    (ann,) = seen.page(network(ann="a")).clients
    assert ann.moves == ()


def test_a_message_takes_the_links_of_the_overlay_that_is_asked_for() -> None:
    now = network(ann="c")
    with_relay = path_of(now, "of/ann", "a")
    assert [(hop.source, hop.target) for hop in with_relay.hops] == [("a", "b"), ("b", "c")]
    assert (with_relay.wanted_at, with_relay.relays) == (("c",), ("b",))
    direct = path_of(now, "of/ann", "a", STAR)
    assert [(hop.source, hop.target) for hop in direct.hops] == [("a", "c")]
    with pytest.raises(OperatorError, match="No broker 'd' runs here"):
        path_of(now, "of/ann", "d")
