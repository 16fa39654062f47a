"""One broker with all that its settings ask for: disk, peers, doors for clients."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from meshwright.errors import OperatorError
from meshwright.files.reading import read_bytes
from meshwright.live.access.doorman import Doorman
from meshwright.live.access.tls import certificate_digest, dialling_context, listening_context
from meshwright.live.clients.crowd import Crowd
from meshwright.live.clients.listener import Listener
from meshwright.live.host.host import Host
from meshwright.live.operating.control import Control
from meshwright.live.operating.reporting import Reporting
from meshwright.live.peers.peers import PeerSettings
from meshwright.live.settings import LiveSettings, PeerLinkSettings
from meshwright.live.system.addresses import Address, parse_address
from meshwright.live.telemetry.system_topics import SystemTopics
from meshwright.live.telemetry.trace import Place
from meshwright.model.neighbourhood import Redraw
from meshwright.model.overlay import Overlay
from meshwright.model.times import SECOND_US
from meshwright.protocol.adaptation.self_adaptation import AdaptationSettings
from meshwright.protocol.broker import Broker
from meshwright.protocol.mobility.messages import MovingSettings
from meshwright.protocol.mobility.placement import PlacementSettings
from meshwright.protocol.mobility.policies import MobilitySettings, parse_policies
from meshwright.protocol.peers.conversations import ConversationSettings
from meshwright.protocol.peers.round_trips import RoundTripSettings
from meshwright.protocol.reconfiguration.reconfigure import ReconfigureSettings
from meshwright.protocol.sessions.session import RECEIVE_MAXIMUM, UNLIMITED
from meshwright.protocol.sessions.session_settings import SessionSettings
from meshwright.protocol.settings import BrokerSettings
from meshwright.protocol.shared.room import SharedSettings
from meshwright.protocol.streams.outgoing import OutgoingSettings

SECRET_BYTES_MIN = 16
# A broker that was not heard for so long is taken for lost.
SILENT_HEARTBEATS = 4
# A plan that is not decided after so long is aborted; an overlay that is left is dropped after so
# long, whether it is drained or not.
PATIENCE_HEARTBEATS, FORGOTTEN_HEARTBEATS = 20, 30


class LiveBroker:
    """Starts and stops everything in order; http: where metrics are told, once it has started.

    founders: the brokers with which the network began, if not those of the overlay. redraw: the
    search with which it fits its tree to the traffic, if it is to.
    """

    def __init__(
        self,
        settings: LiveSettings,
        overlay: Overlay,
        *,
        founders: tuple[str, ...] = (),
        recorded: Callable[[int, Any], None],
        refused: Callable[[str, str], None],
        redraw: Redraw | None = None,
    ) -> None:
        self.settings = settings
        self._doorman = doorman = Doorman(settings.access)
        self._over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.host = Host(
            Broker(settings.name, _core_settings(settings, doorman, redraw), overlay, founders),
            settings.name,
            settings.folder,
            peer_settings(settings.peers),
            recorded=recorded,
            refused=refused,
            failed=self._failed,
            is_durable=settings.durability == "synced",
            disk_bytes_max=settings.disk_bytes_max,
        )
        system_topics = SystemTopics(settings.name)
        crowd = Crowd(settings.limits)
        self.listeners = [
            Listener(
                one,
                settings.limits,
                host=self.host,
                doorman=doorman,
                crowd=crowd,
                system_topics=system_topics,
            )
            for one in settings.all_listeners()
        ]
        self.control = Control(self.host, self.listeners, self._end)
        self._reporting = Reporting(
            self.host,
            settings.telemetry,
            system_topics,
            place=Place(settings.latitude, settings.longitude, settings.site),
            readings=self.control.readings,
            recorded=recorded,
        )
        self.http: Address | None = None

    async def start(self) -> list[Address]:
        """Come to life; returns where clients come in, in the order of the settings."""
        addresses = [await listener.open() for listener in self.listeners]
        clients = self.settings.all_listeners()[0].advertise or str(addresses[0])
        await self.host.start(parse_address(self.settings.peers.listen), clients)
        await self.host.until_it_belongs()
        self._reporting.start(self.host.incarnation)
        self.http = await self.control.open(self.settings.telemetry.http, self.settings.control)
        # Clients come last: whoever is let in finds everything running.
        for listener in self.listeners:
            await listener.serve()
        return addresses

    def reload(self) -> None:
        """Go by what the files of users and rules say now; if one is no good, nothing changes."""
        self._doorman.reload()
        self.host.rights_changed()
        for listener in self.listeners:
            listener.users_changed()

    async def stop(self) -> None:
        """Say goodbye to clients and peers, and sync what was written."""
        self.control.close()
        for listener in self.listeners:
            await listener.close()
        await self.host.stop()
        await self._reporting.stop()
        self._end()

    async def wait(self) -> None:
        """Until it is stopped; raises what it could not live with."""
        await self._over

    def _end(self) -> None:
        if not self._over.done():
            self._over.set_result(None)

    def _failed(self, error: Exception) -> None:
        if not self._over.done():
            self._over.set_exception(error)


def _core_settings(
    settings: LiveSettings, doorman: Doorman, redraw: Redraw | None
) -> BrokerSettings:
    mobility = MobilitySettings(policies=parse_policies(settings.mobility))
    limits = settings.limits
    sessions = SessionSettings(
        inflight_max=limits.inflight_max or RECEIVE_MAXIMUM,
        inflight_bytes_max=limits.inflight_bytes_max or UNLIMITED,
        queue_max=limits.queue_max or UNLIMITED,
        queue_bytes_max=limits.queue_bytes_max or UNLIMITED,
        queue_full=limits.queue_full,
        queued_bytes_max=limits.queued_bytes_max or UNLIMITED,
        user_queued_bytes_max=limits.user_queued_bytes_max or UNLIMITED,
        sessions_max=limits.sessions_max or UNLIMITED,
        user_sessions_max=limits.user_sessions_max or UNLIMITED,
        writes_runs=settings.durability == "synced",
        rights=doorman if doorman.has_rules else None,
    )
    moves = settings.moves
    # Where nobody asks whether it is ready, nobody need be told before.
    notice_s = moves.notice_s if settings.telemetry.http is not None else 0.0
    moving = MovingSettings(
        clients_per_second=moves.clients_per_second, notice_us=round(notice_s * SECOND_US)
    )
    wanted = settings.placement
    placement = PlacementSettings(
        rule=settings.placement_rule,
        every_us=round(wanted.every_s * SECOND_US),
        gain_min=wanted.gain_min,
        load_slack=wanted.load_slack,
        load_weight=wanted.load_weight,
        rest_us=round(wanted.rest_s * SECOND_US),
    )
    adaptation = None
    if redraw is not None:
        every_us = round(settings.adaptation.every_s * SECOND_US)
        adaptation = AdaptationSettings(
            redraw=redraw, every_us=every_us, moves_clients=settings.adaptation.move_clients
        )
    heartbeat_us = round(settings.peers.heartbeat_s * SECOND_US)
    return BrokerSettings(
        conversations=ConversationSettings(
            heartbeat_us=heartbeat_us, suspect_us=SILENT_HEARTBEATS * heartbeat_us
        ),
        reconfigure=_reconfigure_settings(heartbeat_us),
        outgoing=OutgoingSettings(across_topics=settings.order.across_topics),
        round_trips=RoundTripSettings(site=settings.site or "", cluster_size=wanted.cluster_size),
        moving=moving,
        mobility=mobility,
        sessions=sessions,
        shared=SharedSettings(
            queue_max=limits.queue_max or UNLIMITED, queue_full=limits.queue_full
        ),
        placement=placement,
        adaptation=adaptation,
    )


def _reconfigure_settings(heartbeat_us: int) -> ReconfigureSettings:
    """A network that hears of itself more seldom is given more time for a change."""
    usual = ReconfigureSettings()
    return ReconfigureSettings(
        patience_us=max(usual.patience_us, PATIENCE_HEARTBEATS * heartbeat_us),
        forget_us=max(usual.forget_us, FORGOTTEN_HEARTBEATS * heartbeat_us),
    )


def peer_settings(settings: PeerLinkSettings) -> PeerSettings:
    """What the links with other brokers need, files read."""
    tls = settings.tls
    return PeerSettings(
        network=settings.network,
        secret=b"" if settings.secret_file is None else _secret_in(settings.secret_file),
        listening=None if tls is None else listening_context(tls),
        dialling=None if tls is None else dialling_context(tls),
        certificate=b"" if tls is None else certificate_digest(tls),
        advertise=settings.advertise,
    )


def _secret_in(path: Path) -> bytes:
    secret = read_bytes(path).strip()
    if len(secret) < SECRET_BYTES_MIN:
        raise OperatorError(
            f"{path}: the secret has {len(secret)} characters and could be guessed; write at least "
            f"{SECRET_BYTES_MIN} (head -c 32 /dev/urandom | base64)."
        )
    return secret
