"""Brokers on a tree that fit it to their traffic: planning's search, handed to the protocol."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from meshwright.model.overlay import Overlay
from meshwright.overlays.tree import FANOUT
from meshwright.planning.adaptation.redraw import better_star
from meshwright.planning.adaptation.rounds import AdaptationRules
from meshwright.planning.adaptation.search import SearchRules
from meshwright.protocol.broker import Broker
from meshwright.protocol.broker_settings import BrokerSettings
from meshwright.protocol.self_adaptation import (
    AdaptationSettings,
    NeighbourhoodView,
    Redraw,
    Redrawn,
)

# Simulated networks live for seconds, so they look often and plan for a minute.
EVERY_US = 2_000_000
# What redrawing a star sends: seven messages for each neighbour whose links change, and the news of
# it to everybody else.
MESSAGES_PER_BROKER, MESSAGES_PER_NEIGHBOUR = 1, 7
# Without a bound on a broker's links, trees would end as stars; a regular tree must have room.
RULES = AdaptationRules(
    search=SearchRules(degree_max=2 * FANOUT),
    horizon_periods=30,
    messages_per_neighbour=MESSAGES_PER_NEIGHBOUR,
)


def redraw_by(rules: AdaptationRules, messages_per_broker: int = MESSAGES_PER_BROKER) -> Redraw:
    """The search that a broker is given; chance in it depends on the broker and its round only.

    messages_per_broker: what a switch sends for each other broker, whatever changes.
    """

    def redraw(view: NeighbourhoodView) -> Redrawn | None:
        found = better_star(
            (view.master, *view.neighbours),
            view.outer_degrees,
            [(messages, members) for members, messages in view.classes],
            np.random.default_rng([view.round_number, *view.master.encode()]),
            rules=replace(rules, messages_fixed=messages_per_broker * (view.broker_count - 1)),
        )
        return None if found is None else Redrawn(*found)

    return redraw


def adapting_settings(every_us: int = EVERY_US, rules: AdaptationRules = RULES) -> BrokerSettings:
    """Settings of brokers that adapt."""
    return BrokerSettings(adaptation=AdaptationSettings(redraw=redraw_by(rules), every_us=every_us))


def build_adapting_broker(name: str, overlay: Overlay) -> Broker:
    """The machine that is simulated where the tree adapts."""
    return Broker(name, adapting_settings(), overlay)
