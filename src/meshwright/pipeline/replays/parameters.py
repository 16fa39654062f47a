"""Everything that a person may choose about a replay; docs/FILES.md explains it key by key."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import msgspec

from meshwright.model.price import PriceWeights
from meshwright.pipeline.replays.paying_period import EPOCH_SLOTS
from meshwright.planning.arrangement.reconfiguration import RECONFIGURABILITY_BETA
from meshwright.planning.placement.strategies import PlacementRules
from meshwright.planning.succession import EpochRules

PlacementName = Literal["recorded", "static", "location", "similarity", "similarity-bounded"]
InterestSource = Literal["subscriptions", "location"]
Count = Annotated[int, msgspec.Meta(ge=1)]
WholeNumber = Annotated[int, msgspec.Meta(ge=0)]
Amount = Annotated[float, msgspec.Meta(ge=0.0)]
Share = Annotated[float, msgspec.Meta(ge=0.0, le=1.0)]


class _Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of the settings."""


class TimeParameters(_Part, frozen=True, kw_only=True):
    """Slots (T_update), epochs (T_free), and slots left out of the comparison.

    slot_s: None for about a hundredth of the trace, in whole hours if it has some. epoch_slots: 0
    for as many as a move of brokers needs to pay for itself.
    """

    slot_s: Count | None = None
    epoch_slots: WholeNumber = EPOCH_SLOTS
    warmup_slots: WholeNumber = 0


class InterestParameters(_Part, frozen=True, kw_only=True):
    """Where interests come from; None: from subscriptions if there are any, else from places."""

    source: InterestSource | None = None
    cell_degrees: Annotated[float, msgspec.Meta(gt=0.0, le=360.0)] = 1.0


class PublicationParameters(_Part, frozen=True, kw_only=True):
    """The filter of rates, and what to take where nobody recorded publications.

    placed: publications enter where their publishers are, not at any broker alike.
    """

    alpha: Share = 0.3
    per_slot: WholeNumber = 1
    placed: bool = True


class BrokerParameters(_Part, frozen=True, kw_only=True):
    """How many brokers to take where the trace names none."""

    count: Annotated[int, msgspec.Meta(ge=2)] = 50


class PlacementParameters(_Part, frozen=True, kw_only=True):
    """Which placements, None for all that the trace allows; and how clients choose."""

    methods: Annotated[tuple[PlacementName, ...], msgspec.Meta(min_length=1)] | None = None
    cluster_size: Count = 5
    load_weight: Amount = 1.0
    gain_min: Amount = 0.2
    load_slack: Amount = 0.1

    def rules(self) -> PlacementRules:
        """The same as planning has it."""
        return PlacementRules(self.load_weight, self.gain_min, self.load_slack)


class OverlayParameters(_Part, frozen=True, kw_only=True):
    """Which designs, None for every candidate; and what is asked of them."""

    designs: Annotated[tuple[str, ...], msgspec.Meta(min_length=1)] | None = None
    k: Count = 1
    delay_weight: Amount = 1.0
    beta: Amount = RECONFIGURABILITY_BETA

    def rules(self) -> EpochRules:
        """The same as planning has it."""
        return EpochRules(k=self.k, delay_weight=self.delay_weight, beta=self.beta)


class PriceParameters(_Part, frozen=True, kw_only=True):
    """What counts how much in the price, beside overlay.delay_weight by which designs are built."""

    relay_weight: Amount = 1.0
    management_weight: Amount = 1.0
    reconfiguration_weight: Amount = 1.0
    link_weight: Amount = PriceWeights().link


class WorkParameters(_Part, frozen=True, kw_only=True):
    """How much is done at once; it changes no result. topics_at_once 0: as many as fit."""

    topics_at_once: WholeNumber = 0


class ReplayParameters(_Part, frozen=True, kw_only=True):
    """All of it; the same parameters and the same trace give the same results anywhere."""

    seed: WholeNumber = 0
    time: TimeParameters = TimeParameters()
    interests: InterestParameters = InterestParameters()
    publications: PublicationParameters = PublicationParameters()
    brokers: BrokerParameters = BrokerParameters()
    placement: PlacementParameters = PlacementParameters()
    overlay: OverlayParameters = OverlayParameters()
    price: PriceParameters = PriceParameters()
    work: WorkParameters = WorkParameters()

    def weights(self) -> PriceWeights:
        """The same as planning has it."""
        return PriceWeights(
            relay=self.price.relay_weight,
            delay=self.overlay.delay_weight,
            management=self.price.management_weight,
            reconfiguration=self.price.reconfiguration_weight,
            link=self.price.link_weight,
        )


class RunSettings(ReplayParameters, frozen=True, kw_only=True):
    """A file of settings: the parameters, the trace, and the folder for what is found.

    Trace and folder may be addresses. source: today's overlay, if there is one.
    """

    trace: str
    out: str
    source: Path | None = msgspec.field(default=None, name="from")

    def parameters(self) -> ReplayParameters:
        """The parameters alone."""
        return ReplayParameters(
            **{name: getattr(self, name) for name in ReplayParameters.__struct_fields__}
        )
