"""What an origin knows of others' interest counts for all its topics, however it came to know."""

from __future__ import annotations

from small_network import SmallNetwork

from meshwright.protocol.directory.entries import WILDCARDS, Entry, EntryChange
from meshwright.protocol.streams.known_interest import KnownInterest
from meshwright.protocol.streams.messages import Joining

WILD = Entry(1, ("a/+",))


def test_a_wildcard_counts_for_a_topic_whose_answer_another_one_made_void() -> None:
    known = KnownInterest()
    assert known.wanted("a/1") == {}
    known.learn_all(WILDCARDS, {"b1": WILD}, {})
    assert known.hear("b0", Joining(WILDCARDS, WILD, False, ("a/+",))) == ["a/1"]


def test_a_wildcard_that_was_read_before_it_is_told_counts_for_all_topics() -> None:
    known = KnownInterest()
    assert known.wanted("a/1") == {}
    known.learn_all(WILDCARDS, {"b0": WILD}, {})
    assert known.hear("b0", Joining(WILDCARDS, WILD, False, ("a/+",))) == ["a/1"]
    change = EntryChange(0, ("a/+",), ())
    again = Joining(WILDCARDS, Entry(1, ()), False, ("a/+",), change)
    assert known.hear("b0", again) == ["a/1"]
    later = Entry(2, ("a/+", "b/+"))
    assert known.hear("b0", Joining(WILDCARDS, later, True)) == ["a/1"]


def test_a_wildcard_counts_for_all_topics_once_brokers_are_left_out() -> None:
    known = KnownInterest()
    assert known.wanted("a/1") == {}
    known.leave_out(frozenset({"b2"}))
    assert known.hear("b0", Joining(WILDCARDS, WILD, False, ("a/+",))) == ["a/1"]


def test_a_topic_that_is_forgotten_is_looked_at_no_more() -> None:
    known = KnownInterest()
    assert known.wanted("a/1") == {}
    known.forget("a/1")
    assert known.hear("b0", Joining(WILDCARDS, WILD, False, ("a/+",))) == []


def test_who_joins_by_name_is_owed_what_its_wildcard_was_to_get_before() -> None:
    """An origin had read the wildcard for another topic, and took it for known when told of it."""
    network = SmallNetwork()
    for client, broker in (("writer", "b2"), ("early", "b1"), ("late", "b0"), ("later", "b0")):
        network.connect(client, broker, session_expiry_s=600)
    for topic in ("a/1", "a/2"):
        network.subscribe("early", topic)
        network.publish("writer", topic, "before")
    network.advance(5)
    network.hold(source="b0", target="b2")
    assert not network.subscribe("late", "a/+")
    # The first goes out at once; who wants it is read a little later.
    network.publish("writer", "a/2", "other")
    network.advance(1.5)
    network.release(source="b0", target="b2")
    network.advance(0.1)
    assert network.publish("writer", "a/1", "wanted")
    assert network.subscribe("later", "a/1")
    network.advance(10)
    assert network.payloads("late") == ["other", "wanted"]
