from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from worlds import small_world

from meshwright.protocol.foundation.effects import Effect
from meshwright.protocol.foundation.events import (
    Event,
    LinkDown,
    LinkUp,
    PeerEnvelope,
    Started,
    TimerFired,
)
from meshwright.protocol.foundation.turn import Turn
from meshwright.protocol.peers.conversations import TICK, Conversations, ConversationSettings
from meshwright.sim.scenario.faults import Field, plan_faults
from meshwright.sim.scenario.injection import inject

SECOND_US = 1_000_000
NAMES = ("b0", "b1", "b2")
SEND = ("send",)


class Talker:
    """Says a number to every peer once in a while, and notes what it hears of them."""

    def __init__(self, name: str, log: list[tuple[Any, ...]], every_us: int, kept: bool) -> None:
        self.name = name
        self.log = log
        self.every_us = every_us
        self.peers = [peer for peer in NAMES if peer != name]
        self.kept = kept
        self.count = 0
        self.incarnation = 0

    def step(self, now_us: int, event: Event) -> list[Effect]:
        turn = Turn(now_us)
        turn.facts.peer_lost.heard_by(self.lost)
        if isinstance(event, Started):
            self.incarnation = event.incarnation
            self.links = Conversations(
                self.name,
                event.incarnation,
                ConversationSettings(),
                handlers={tuple: self.delivered},
            )
            self.links.keep(turn, self.peers if self.kept else ())
            self.links.tick(turn)
            turn.timer(SEND, now_us + self.every_us)
        elif isinstance(event, LinkUp):
            self.links.link_up(turn, event.peer)
        elif isinstance(event, LinkDown):
            self.links.link_down(turn, event.peer)
        elif isinstance(event, PeerEnvelope):
            self.links.envelope_came(turn, event)
        elif isinstance(event, TimerFired) and event.key == TICK:
            self.links.tick(turn)
        elif isinstance(event, TimerFired):
            self.talk(turn)
        return turn.effects

    def lost(self, turn: Turn, peer: str) -> None:
        self.log.append(("lost", turn.now_us, self.name, peer))

    def talk(self, turn: Turn) -> None:
        self.count += 1
        for peer in self.peers:
            self.links.send(turn, peer, (self.incarnation, self.count))
        turn.timer(SEND, turn.now_us + self.every_us)

    def delivered(self, turn: Turn, peer: str, body: tuple[int, int]) -> None:
        said = (peer, body[0], self.name, self.incarnation)
        self.log.append(("heard", turn.now_us, said, body[1]))


def talked(
    seed: int, faults: tuple[str, ...], *, every_us: int = 100_000, kept: bool = True
) -> list[tuple[Any, ...]]:
    log: list[tuple[Any, ...]] = []
    world = small_world(lambda name: Talker(name, log, every_us, kept), NAMES, seed=seed)
    field = Field(NAMES, (), 5 * SECOND_US, 30 * SECOND_US)
    inject(world, plan_faults(faults, field, np.random.default_rng(seed)))
    world.run_until(50 * SECOND_US)
    return log


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    "faults", [("disconnect",), ("slow", "stuck"), ("partition",), ("crash", "disconnect", "stuck")]
)
def test_messages_arrive_once_and_in_order_whatever_breaks(
    seed: int, faults: tuple[str, ...]
) -> None:
    newest: dict[tuple[Any, ...], tuple[int, int]] = {}
    for kind, time_us, said, *number in talked(seed, faults):
        if kind == "heard":
            assert number[0] > newest.get(said, (0, 0))[0]
            newest[said] = (number[0], time_us)
    alive = {said[::2] for said, (_, time_us) in newest.items() if time_us > 49 * SECOND_US}
    assert len(alive) == len(NAMES) * (len(NAMES) - 1)


@pytest.mark.parametrize("seed", range(6))
def test_broken_connections_alone_lose_nothing(seed: int) -> None:
    heard: dict[tuple[Any, ...], list[int]] = {}
    for kind, _, said, *number in talked(seed, ("disconnect",)):
        assert kind == "heard"
        heard.setdefault(said, []).append(number[0])
    assert all(numbers == list(range(1, len(numbers) + 1)) for numbers in heard.values())


@pytest.mark.parametrize("seed", range(3))
def test_a_peer_with_whom_nobody_talked_for_long_is_not_lost_at_the_first_word(seed: int) -> None:
    log = talked(seed, (), every_us=6_999_000, kept=False)
    assert not [entry for entry in log if entry[0] == "lost"]
    assert len(log) == len(NAMES) * (len(NAMES) - 1) * 7
