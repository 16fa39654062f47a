"""What one publication costs on average, counted in messages, and for what."""

from __future__ import annotations

import math

import msgspec

from meshwright.model.arguments import Weight, check_fields

SHOWN_DIGITS = 2


class PriceWeights(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What counts how much in a price; a message to a broker that wants it counts 1.

    relay: a message to a broker that only relays it. delay: a hop from the publisher's broker to an
    interested one. management: a message for what brokers subscribe to. reconfiguration: a message
    for a change of overlay, or for a client that goes to another broker. link: each link of a
    broker, as so much of a message of every publication; without it nothing would speak against
    linking everybody with everybody.
    """

    relay: Weight = 1.0
    delay: Weight = 1.0
    management: Weight = 1.0
    reconfiguration: Weight = 1.0
    link: Weight = 0.1

    def __post_init__(self) -> None:
        check_fields(self)


class Price(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The parts of the price of a publication, weights included; they add up to the total.

    messages: to interested brokers, on the way in, and those sent straight as a repair.
    """

    messages: float = 0.0
    relays: float = 0.0
    delay: float = 0.0
    management: float = 0.0
    reconfiguration: float = 0.0
    links: float = 0.0

    @property
    def total(self) -> float:
        return math.fsum(self.parts().values())

    def parts(self) -> dict[str, float]:
        """Every part by its name, in the order in which tables show them."""
        return {name: getattr(self, name) for name in PARTS}

    def shown(self) -> dict[str, str]:
        """The parts and the total as tables write them, each rounded by itself."""
        values = self.parts() | {"price": self.total}
        return {name: f"{value:,.{SHOWN_DIGITS}f}" for name, value in values.items()}


PARTS: tuple[str, ...] = Price.__struct_fields__
# What a part is called where a sentence says what is dear.
TOLD = {
    "messages": "messages to interested brokers",
    "relays": "relays",
    "delay": "delay",
    "management": "broker subscriptions",
    "reconfiguration": "changes of overlay and of clients' brokers",
    "links": "links",
}


def told_price(price: Price) -> str:
    """The total and the parts of which it is the sum, as a sentence has it."""
    shown = price.shown()
    parts = [
        f"{shown[name]} for {TOLD[name]}" for name in PARTS if float(shown[name].replace(",", ""))
    ]
    return f"{shown['price']}" + (f" ({', '.join(parts)})" if parts else "")
