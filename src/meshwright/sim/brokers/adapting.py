"""Brokers on a tree that fit it to their traffic: planning's search, handed to the protocol."""

from __future__ import annotations

from meshwright.model.adaptation import AdaptationOptions, StatedCosts
from meshwright.model.overlay import Overlay
from meshwright.planning.adaptation.redraw import BROKER_RULES, redraw_by
from meshwright.planning.adaptation.rounds import AdaptationRules
from meshwright.protocol.adaptation.self_adaptation import AdaptationSettings
from meshwright.protocol.broker import Broker
from meshwright.protocol.settings import BrokerSettings

# Simulated networks live for seconds, so they look often and plan for a minute.
EVERY_US = 2_000_000


def adapting_settings(
    every_us: int = EVERY_US,
    rules: AdaptationRules = BROKER_RULES,
    *,
    options: AdaptationOptions | None = None,
    stated: StatedCosts | None = None,
) -> BrokerSettings:
    """Settings of brokers that adapt; options: what was chosen instead of what the rules say."""
    return BrokerSettings(
        adaptation=AdaptationSettings(
            redraw=redraw_by(rules, options=options, stated=stated),
            every_us=every_us,
            moves_clients=options is not None and options.move_clients,
        )
    )


def build_adapting_broker(name: str, overlay: Overlay) -> Broker:
    """The machine that is simulated where the tree adapts."""
    return Broker(name, adapting_settings(), overlay)
