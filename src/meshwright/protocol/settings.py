"""The settings of a broker: those of each of its machines, beside whose code they stand."""

from __future__ import annotations

import msgspec

from meshwright.protocol.adaptation.self_adaptation import AdaptationSettings
from meshwright.protocol.adaptation.star_around import StarSettings
from meshwright.protocol.directory.directory import DirectorySettings
from meshwright.protocol.mobility.messages import MovingSettings
from meshwright.protocol.mobility.placement import PlacementSettings
from meshwright.protocol.mobility.policies import MobilitySettings
from meshwright.protocol.peers.conversations import ConversationSettings
from meshwright.protocol.peers.removals import RemovalSettings
from meshwright.protocol.peers.round_trips import RoundTripSettings
from meshwright.protocol.reconfiguration.reconfigure import ReconfigureSettings
from meshwright.protocol.retained.store import RetainedSettings
from meshwright.protocol.sessions.full_queues import FullQueueSettings
from meshwright.protocol.sessions.session_settings import SessionSettings
from meshwright.protocol.shared.room import SharedSettings
from meshwright.protocol.streams.incoming import IncomingSettings
from meshwright.protocol.streams.outgoing import OutgoingSettings


class BrokerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of all machines of a broker; with adaptation, a tree fits itself to its traffic."""

    conversations: ConversationSettings = ConversationSettings()
    round_trips: RoundTripSettings = RoundTripSettings()
    directory: DirectorySettings = DirectorySettings()
    outgoing: OutgoingSettings = OutgoingSettings()
    incoming: IncomingSettings = IncomingSettings()
    sessions: SessionSettings = SessionSettings()
    full_queues: FullQueueSettings = FullQueueSettings()
    retained_store: RetainedSettings = RetainedSettings()
    shared: SharedSettings = SharedSettings()
    moving: MovingSettings = MovingSettings()
    removal: RemovalSettings = RemovalSettings()
    mobility: MobilitySettings = MobilitySettings()
    placement: PlacementSettings = PlacementSettings()
    reconfigure: ReconfigureSettings = ReconfigureSettings()
    stars: StarSettings = StarSettings()
    adaptation: AdaptationSettings | None = None
