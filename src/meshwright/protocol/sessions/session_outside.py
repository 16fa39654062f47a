"""What the sessions of a broker need of its other machines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from meshwright.filters.filter import Filter
from meshwright.model.publication import Publication
from meshwright.protocol.foundation.slices import Slices
from meshwright.protocol.foundation.turn import Action, Turn
from meshwright.protocol.mqtt.qos1_runs import SentRun
from meshwright.protocol.retained.lookup import Find
from meshwright.protocol.retained.store import RetainedStore
from meshwright.protocol.sessions.full_queues import FullQueues
from meshwright.protocol.sessions.session_groups import SessionGroups
from meshwright.protocol.streams.interest import Interest
from meshwright.protocol.streams.outgoing import Outgoing


@dataclass(frozen=True, slots=True, kw_only=True)
class Outside:
    """What sessions ask of the rest of the broker: the machines below, and what those above do."""

    outgoing: Outgoing
    interest: Interest
    retained_store: RetainedStore
    publish: Callable[[Turn, Publication, Action], Any]
    publish_qos0: Callable[[Turn, Publication], None]
    publish_elsewhere: Callable[[Turn, Publication, Action], Any]
    carry: Callable[[Turn, Publication], None]
    stays_here: Callable[[int, str], bool]
    handed_out: Callable[[SentRun], None]
    find_retained: Find
    shared: SessionGroups
    unwant: Callable[[Turn, Filter], None]
    remember: Callable[[Turn, str], None]
    slices: Slices
    full: FullQueues
