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
from meshwright.protocol.sessions.full_queues import FullQueues
from meshwright.protocol.sessions.session_groups import SessionGroups


@dataclass(frozen=True, slots=True, kw_only=True)
class Outside:
    """What sessions ask of the rest of the broker."""

    publish: Callable[[Turn, Publication, Action], Any]
    publish_qos0: Callable[[Turn, Publication], None]
    publish_elsewhere: Callable[[Turn, Publication, Action], Any]
    has_order: Callable[[str], bool]
    carry: Callable[[Turn, Publication], None]
    stays_here: Callable[[int, str], bool]
    handed_out: Callable[[SentRun], None]
    when_settled: Callable[[Turn, str, Action], None]
    find_retained: Find
    shared: SessionGroups
    want: Callable[[Turn, Filter, Action], None]
    when_in_force: Callable[[Turn, Filter, Action], None]
    unwant: Callable[[Turn, Filter], None]
    remember: Callable[[Turn, str], None]
    log_length: Callable[[], int]
    slices: Slices
    full: FullQueues
