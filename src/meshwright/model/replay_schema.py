"""The tables that the replay of a trace makes, stage by stage, described once.

A slot is a T_update period, numbered from 0; an epoch is a T_free period of some slots. Interests
at the start of a slot include what happens at that very moment. Counts of messages are whole
numbers summed over every broker as the publisher's, so that sums do not depend on their order.
"""

from __future__ import annotations

from meshwright.model.schema import BROKER, CLIENT, TIME, TOPIC, Column, Table

PLACEMENT = Column("placement", "text", "how clients were placed on brokers")
DESIGN = Column("design", "text", "how brokers are joined")
SLOT = Column("slot", "whole", "the slot, from 0")
EPOCH = Column("epoch", "whole", "the epoch, from 0")
PAYS_FROM = Column(
    "pays_from",
    "number",
    "publications of a topic in an epoch from which on a move pays; none: one did, or none could",
    is_required=False,
)

INTERESTS = Table(
    "interests",
    "when a client began or ceased to want a topic; for each pair on and off in turns",
    (TIME, CLIENT, TOPIC, Column("is_on", "truth", "true: wants it from now on")),
)
RATES = Table(
    "rates",
    "how often a topic was published in some slots, and what is to be expected after them",
    (
        Column("slot_first", "whole", "the first of slots with as many publications each"),
        Column("slot_end", "whole", "the first slot after them"),
        TOPIC,
        Column("publications", "whole", "in each of these slots"),
        Column("rate", "number", "publications of a slot to come, by a filter over epochs"),
    ),
)
HOMES = Table(
    "homes",
    "the broker of the place where a client is, or the one it happens to ask first",
    (TIME, CLIENT, BROKER),
)
PLACEMENTS = Table(
    "placements",
    "which broker serves a client from now on",
    (PLACEMENT, TIME, CLIENT, BROKER),
)
ENTRIES = Table(
    "entries",
    "at which broker publications of a topic entered in a slot, with publishers where they are",
    (
        PLACEMENT,
        SLOT,
        TOPIC,
        Column("broker", "text", "the publishers' broker; none: anywhere", is_required=False),
        Column("publications", "whole", "that entered there"),
    ),
)
HOSTED_CHANGES = Table(
    "hosted_changes",
    "how many clients of a broker more, or fewer, want a topic from now on",
    (PLACEMENT, TIME, BROKER, TOPIC, Column("change", "whole", "clients more, never 0")),
)
BROKER_CHANGES = Table(
    "broker_changes",
    "when a broker subscribed to a topic for its first client, or ceased with its last",
    (PLACEMENT, TIME, BROKER, TOPIC, Column("is_on", "truth", "true: subscribes")),
)
BROKER_SPANS = Table(
    "broker_spans",
    "the slots of an epoch at whose start a broker wants a topic",
    (
        PLACEMENT,
        EPOCH,
        BROKER,
        TOPIC,
        Column("slot_first", "whole", "the first such slot"),
        Column("slot_end", "whole", "the first slot after them"),
    ),
)
SNAPSHOTS = Table(
    "snapshots",
    "who wants what at the start of an epoch, and what is expected to be published in it",
    (
        PLACEMENT,
        EPOCH,
        BROKER,
        TOPIC,
        Column("publications", "number", "expected of the topic in the epoch"),
    ),
)
OVERLAYS = Table(
    "overlays",
    "the overlay of an epoch, what it cost to get there, and what it is like at its start",
    (
        PLACEMENT,
        DESIGN,
        EPOCH,
        Column("overlay", "text", "an overlay document"),
        Column("reconfiguration_messages", "number", "the price of the change to it"),
        Column("moved", "whole", "brokers whose position or links changed"),
        Column("cost_before", "number", "expected without it; none: no plan", is_required=False),
        Column("cost_after", "number", "expected with it; none: no plan", is_required=False),
        Column("reason", "text", "why brokers moved or stayed"),
        Column("degree_mean", "number", "links of a broker"),
        Column("degree_max", "whole", "links of the broker that has most"),
        Column("k_held", "whole", "brokers that must die to part a topic"),
        Column("load_spread", "number", "deviation of the messages a broker handles, over mean"),
        PAYS_FROM,
    ),
)
REPLAYED = Table(
    "replayed",
    "what some topics' publications and subscriptions of a slot cost; sums over all publishers",
    (
        PLACEMENT,
        DESIGN,
        EPOCH,
        SLOT,
        Column("bucket", "whole", "which topics"),
        Column("publications", "whole", "in this slot, of these topics"),
        Column("messages_internal", "whole", "received by brokers that want them"),
        Column("messages_external", "whole", "received by brokers that only relay"),
        Column("messages_entry", "whole", "on the way to where spreading starts"),
        Column("messages_repair", "whole", "sent straight, as the overlay had no way"),
        Column("deliveries", "whole", "to interested brokers, repaired ones included"),
        Column("delay_hops", "whole", "from the publisher's broker, over deliveries"),
        Column("delay_tree_hops", "whole", "from where spreading starts, over deliveries"),
        Column("delay_us", "whole", "over deliveries; none: unknown", is_required=False),
        Column("management_messages", "whole", "for broker subscriptions that changed"),
    ),
)
METRICS = Table(
    "metrics",
    "what a slot cost under one placement and one design",
    (
        PLACEMENT,
        DESIGN,
        SLOT,
        Column("publications", "whole", "in this slot"),
        Column("deliveries", "number", "to interested brokers"),
        Column("subscription_changes", "whole", "subscriptions that brokers began or ended"),
        Column("management_messages", "whole", "for those, and between brokers of a cluster"),
        Column("messages_internal", "number", "received by brokers that want them"),
        Column("messages_external", "number", "received by brokers that only relay"),
        Column("messages_entry", "number", "on the way to where spreading starts"),
        Column("messages_repair", "number", "sent straight, as the overlay had no way"),
        Column("notification_overhead", "number", "messages of a publication"),
        Column("delay_hops", "number", "mean from the publisher's broker to an interested one"),
        Column("delay_tree_hops", "number", "mean from where spreading starts"),
        Column("delay_ms", "number", "as delay_hops; none: unknown", is_required=False),
        Column("hand_overs", "whole", "clients that went to another broker"),
        Column("load_mean", "number", "subscriptions of a broker's clients, at the slot's start"),
        Column("load_deviation", "number", "of those over brokers"),
        Column("reconfiguration_messages", "number", "if an epoch begins: the change to it"),
    ),
)
COMPARISON = Table(
    "comparison",
    "one line for each placement and design: sums over slots, and means over what was sent",
    (
        PLACEMENT,
        DESIGN,
        Column("publications", "whole", "in all slots"),
        Column("deliveries", "number", "to interested brokers"),
        Column("subscription_changes", "whole", "subscriptions that brokers began or ended"),
        Column("management_messages", "whole", "for those, and between brokers of a cluster"),
        Column("messages_internal", "number", "received by brokers that want them"),
        Column("messages_external", "number", "received by brokers that only relay"),
        Column("messages_entry", "number", "on the way to where spreading starts"),
        Column("messages_repair", "number", "sent straight, as the overlay had no way"),
        Column("notification_overhead", "number", "messages of a publication"),
        Column("delay_hops", "number", "mean from the publisher's broker to an interested one"),
        Column("delay_tree_hops", "number", "mean from where spreading starts"),
        Column("delay_ms", "number", "as delay_hops; none: unknown", is_required=False),
        Column("hand_overs", "whole", "clients that went to another broker"),
        Column("load_mean", "number", "subscriptions of a broker's clients, mean over slots"),
        Column("load_deviation", "number", "of those over brokers, mean over slots"),
        Column("reconfigurations", "whole", "epochs that began with a change"),
        Column("reconfiguration_messages", "number", "for all changes"),
        Column("degree_mean", "number", "links of a broker, mean over epochs"),
        Column("degree_max", "whole", "links of the broker that ever had most"),
        Column("k_held", "whole", "brokers that must die to part a topic, at the worst start"),
        Column("load_spread", "number", "at the worst start of an epoch"),
        PAYS_FROM,
    ),
)
