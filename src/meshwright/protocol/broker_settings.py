"""The settings of a broker: those of each of its machines, beside whose code they stand."""

from __future__ import annotations

import msgspec

from meshwright.protocol.directory import DirectorySettings
from meshwright.protocol.full_queues import FullQueueSettings
from meshwright.protocol.incoming import IncomingSettings
from meshwright.protocol.links import LinkSettings
from meshwright.protocol.mobility import MobilitySettings
from meshwright.protocol.moves import MovingSettings
from meshwright.protocol.outgoing_settings import OutgoingSettings
from meshwright.protocol.placement import PlacementSettings
from meshwright.protocol.reconfigure import ReconfigureSettings
from meshwright.protocol.removals import RemovalSettings
from meshwright.protocol.retaining import RetainingSettings
from meshwright.protocol.self_adaptation import AdaptationSettings
from meshwright.protocol.session_settings import SessionSettings
from meshwright.protocol.shared_room import SharedSettings
from meshwright.protocol.star_around import StarSettings


class BrokerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of all machines of a broker; with adaptation, a tree fits itself to its traffic."""

    links: LinkSettings = LinkSettings()
    directory: DirectorySettings = DirectorySettings()
    outgoing: OutgoingSettings = OutgoingSettings()
    incoming: IncomingSettings = IncomingSettings()
    sessions: SessionSettings = SessionSettings()
    full_queues: FullQueueSettings = FullQueueSettings()
    retaining: RetainingSettings = RetainingSettings()
    shared: SharedSettings = SharedSettings()
    moving: MovingSettings = MovingSettings()
    removal: RemovalSettings = RemovalSettings()
    mobility: MobilitySettings = MobilitySettings()
    placement: PlacementSettings = PlacementSettings()
    reconfigure: ReconfigureSettings = ReconfigureSettings()
    stars: StarSettings = StarSettings()
    adaptation: AdaptationSettings | None = None
