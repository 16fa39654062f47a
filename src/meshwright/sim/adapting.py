"""Brokers on a tree that fit it to their traffic: planning's search, handed to the protocol."""

from __future__ import annotations

import numpy as np

from meshwright.model.overlay import Overlay
from meshwright.planning.adaptation.redraw import better_star
from meshwright.planning.adaptation.rounds import AdaptationRules
from meshwright.planning.adaptation.search import SearchRules
from meshwright.protocol.broker import Broker, BrokerSettings
from meshwright.protocol.self_adaptation import (
    AdaptationSettings,
    NeighbourhoodView,
    Redraw,
    Redrawn,
)

# Simulated networks live for seconds, so they look often and plan for a minute.
EVERY_US = 2_000_000
HORIZON_PERIODS = 30
DEGREE_MAX = 4


def redraw_by(rules: AdaptationRules) -> Redraw:
    """The search that a broker is given; chance in it depends on the broker and its round only."""

    def redraw(view: NeighbourhoodView) -> Redrawn | None:
        found = better_star(
            (view.master, *view.neighbours),
            view.outer_degrees,
            [(messages, members) for members, messages in view.classes],
            np.random.default_rng([view.round_number, *view.master.encode()]),
            rules=rules,
        )
        return None if found is None else Redrawn(*found)

    return redraw


def adapting_settings(
    every_us: int = EVERY_US, rules: AdaptationRules | None = None
) -> BrokerSettings:
    """Settings of brokers that adapt; without a bound on their links, trees would end as stars."""
    rules = rules or AdaptationRules(
        search=SearchRules(degree_max=DEGREE_MAX), horizon_periods=HORIZON_PERIODS
    )
    return BrokerSettings(adaptation=AdaptationSettings(redraw=redraw_by(rules), every_us=every_us))


def build_adapting_broker(name: str, overlay: Overlay) -> Broker:
    """The machine that is simulated where the tree adapts."""
    return Broker(name, adapting_settings(), overlay)
