"""Everything that can be set for one broker; docs/broker.toml explains each key.

Without a file a broker listens on this machine only and takes anybody. A listener that is written
down takes nobody without a password or a certificate, unless it says so.
"""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Literal

import msgspec

from meshwright.errors import (
    FilterError,
    InputFileError,
    SettingError,
)
from meshwright.files.reading import name_fault, read_bytes
from meshwright.files.settings import blaming_settings, of_setting, read_settings
from meshwright.files.shapes import Place
from meshwright.filters.filter import parse_filter
from meshwright.live.system.addresses import is_loopback, parse_address
from meshwright.model.adaptation import AdaptationOptions
from meshwright.model.designs import (
    DEFAULT_DESIGN,
    AdaptationRule,
    PlacementRule,
    design,
)
from meshwright.protocol.mobility.policies import parse_policies
from meshwright.protocol.sessions.session_settings import QueueFull

DOCUMENTED_IN = "docs/broker.toml"
QOS_MAX = 2
LATITUDE_MAX = 90.0
LONGITUDE_MAX = 180.0
DEFAULT_LISTEN = "127.0.0.1:1883"
CLUSTER_SIZE_MIN = 2
DEFAULT_PEER_LISTEN = "127.0.0.1:7883"

HOW_TO_CLOSE = (
    "make a secret (head -c 32 /dev/urandom | base64 > secret) and name its file in "
    "peers.secret_file or with --secret on every broker, or set peers.tls with authorities"
)

_ORIGIN = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*://[^/\s]+/?")

# "design": as the design of the network does that this broker founds.
PlacementChoice = Literal["design", "none", "similarity"]
AdaptationChoice = Literal["design", "none", "ocbr"]


class TlsSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Certificates as PEM files; with authorities, the other side must show one of theirs."""

    certificate: Path
    key: Path
    authorities: Path | None = None


class ListenerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Where clients come in, and how; advertise: where others send them, unless to address."""

    address: str = DEFAULT_LISTEN
    advertise: str | None = None
    transport: Literal["tcp", "websocket"] = "tcp"
    origins: tuple[str, ...] = ()
    anonymous: bool = False
    certificate_is_user: bool = True
    tls: TlsSettings | None = None


class PeerLinkSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How this broker and the others of its network find and trust each other."""

    listen: str = DEFAULT_PEER_LISTEN
    advertise: str | None = None
    join: tuple[str, ...] = ()
    network: str = "meshwright"
    secret_file: Path | None = None
    heartbeat_s: float = 1.0
    tls: TlsSettings | None = None


class AccessSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Files of users and of rules; without rules everybody may read and write everything.

    partly_readable: what becomes of a filter that takes more than its client may read.
    """

    passwords: Path | None = None
    rules: Path | None = None
    partly_readable: Literal["filter", "refuse"] = "filter"


class LimitSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What one client may take; 0 means no limit, but for qos_max."""

    connections_max: int = 0
    connections_per_address_max: int = 0
    packet_bytes_max: int = 1 << 20
    payload_bytes_max: int = 0
    qos_max: int = 2
    retain_available: bool = True
    empty_client_ids: bool = True
    inflight_max: int = 1_000
    inflight_bytes_max: int = 16 << 20
    queue_max: int = 10_000
    queue_bytes_max: int = 64 << 20
    queue_full: QueueFull = "refuse"
    queued_bytes_max: int = 1 << 30
    user_queued_bytes_max: int = 1 << 29
    sessions_max: int = 100_000
    user_sessions_max: int = 50_000
    session_expiry_max_s: int = 7 * 86_400
    messages_per_second_max: int = 0
    bytes_per_second_max: int = 0
    keep_alive_max_s: int = 0
    topic_aliases_max: int = 32


class TelemetrySettings(msgspec.Struct, frozen=True, kw_only=True):
    """What the broker tells of itself, where, and how often."""

    http: str | None = None
    trace: Path | None = None
    trace_every_s: float = 10.0
    trace_bytes_max: int = 1 << 30
    trace_age_max_s: float = 7 * 86_400.0
    trace_apart_s: float = 3_600.0
    statement_every_s: float = 600.0
    sys_every_s: float = 10.0
    log: Path | None = None


class ControlSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Where operators and managers on other machines give orders; they show the token."""

    listen: str | None = None
    token_file: Path | None = None
    tls: TlsSettings | None = None


class MoveSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How fast clients are sent to other brokers, and how long it is known before."""

    clients_per_second: int = 500
    notice_s: float = 5.0


class PlacementSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Whether clients are sent to brokers whose clients want the same, and for how much gain."""

    rule: PlacementChoice = "design"
    every_s: float = 10.0
    gain_min: float = 0.2
    load_weight: float = 1.0
    load_slack: float = 0.1
    cluster_size: int = 8
    rest_s: float = 600.0


class AdaptationSettings(AdaptationOptions, frozen=True, kw_only=True):
    """Whether brokers joined as a tree fit it to their traffic, how often they look, and how."""

    rule: AdaptationChoice = "design"
    every_s: float = 60.0
    link_costs: Path | None = None
    broker_costs: Path | None = None


class OrderSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Topics on which what one client publishes has one order, also at other brokers."""

    across_topics: tuple[str, ...] = ()


class LiveSettings(msgspec.Struct, frozen=True, kw_only=True):
    """One broker."""

    name: str = "broker"
    folder: Path = Path(".meshwright")
    site: str | None = None
    latitude: float | None = None
    longitude: float | None = None
    design: str = DEFAULT_DESIGN
    durability: Literal["synced", "memory"] = "synced"
    disk_bytes_max: int = 0
    mobility: str = "standard"
    order: OrderSettings = OrderSettings()
    moves: MoveSettings = MoveSettings()
    placement: PlacementSettings = PlacementSettings()
    adaptation: AdaptationSettings = AdaptationSettings()
    listeners: tuple[ListenerSettings, ...] = ()
    peers: PeerLinkSettings = PeerLinkSettings()
    access: AccessSettings = AccessSettings()
    limits: LimitSettings = LimitSettings()
    telemetry: TelemetrySettings = TelemetrySettings()
    control: ControlSettings = ControlSettings()

    @property
    def placement_rule(self) -> PlacementRule:
        """How clients are placed, as the settings or the design say."""
        rule = self.placement.rule
        return design(self.design).placement if rule == "design" else rule

    @property
    def adaptation_rule(self) -> AdaptationRule:
        """How a tree is adapted, as the settings or the design say."""
        rule = self.adaptation.rule
        return design(self.design).adaptation if rule == "design" else rule

    def all_listeners(self) -> tuple[ListenerSettings, ...]:
        """Those that are set, or one on this machine for anybody."""
        return self.listeners or (ListenerSettings(anonymous=True),)


def read_live_settings(path: Path) -> LiveSettings:
    """The settings of a file, whole and possible."""
    settings = read_settings(path, LiveSettings, documented_in=DOCUMENTED_IN)
    with blaming_settings(path, frozenset()):
        return check_settings(settings)


def check_settings(settings: LiveSettings) -> LiveSettings:
    """Refuse what cannot work before anything is started."""
    _check_listeners(settings)
    _check_peers(settings.peers)
    _check_telemetry(settings.telemetry)
    _check_control(settings.control)
    if not settings.name or "/" in settings.name:
        raise SettingError(
            ("name",),
            f"{settings.name!r} is no name for a broker",
            remedy="use letters and digits",
        )
    _check_place(settings)
    with of_setting(("design",)):
        design(settings.design)
    with of_setting(("mobility",)):
        parse_policies(settings.mobility)
    _check_order(settings.order)
    _refuse_negative(settings.limits)
    _check_at_least(("moves", "clients_per_second"), settings.moves.clients_per_second, 0)
    _check_at_least(("moves", "notice_s"), settings.moves.notice_s, 0.0)
    _check_placement(settings.placement)
    _check_adaptation(settings.adaptation)
    for place, path in _files(settings):
        _check_file(place, path)
    return settings


def _check_adaptation(settings: AdaptationSettings) -> None:
    for key, least in (
        ("every_s", 0.1), ("link_weight", 0), ("broker_weight", 0), ("iterations", 1),
        ("moves_max", 1), ("degree_max", 2 if settings.degree_max else 0),
    ):  # fmt: skip
        _check_at_least(("adaptation", key), getattr(settings, key), least)


def _check_place(settings: LiveSettings) -> None:
    """Refuse a place that is on no map, or half of one."""
    for key, value, most in (
        ("latitude", settings.latitude, LATITUDE_MAX),
        ("longitude", settings.longitude, LONGITUDE_MAX),
    ):
        if value is not None and not -most <= value <= most:
            raise SettingError(
                (key,), f"{key} is {value}", remedy=f"write degrees from -{most:g} to {most:g}"
            )
    if (settings.latitude is None) != (settings.longitude is None):
        key = "longitude" if settings.latitude is None else "latitude"
        raise SettingError((key,), f"{key} stands alone", remedy="write both degrees, or none")
    if settings.site is not None and name_fault(settings.site) is not None:
        raise SettingError(
            ("site",), f"the site {name_fault(settings.site)}", remedy="write a plain name"
        )


def _check_listeners(settings: LiveSettings) -> None:
    for number, listener in enumerate(settings.all_listeners()):
        place = ("listeners", number)
        _check_address((*place, "address"), listener.address)
        if listener.advertise is not None:
            _check_address((*place, "advertise"), listener.advertise)
        for origin in listener.origins:
            if not _ORIGIN.fullmatch(origin):
                raise SettingError(
                    (*place, "origins"),
                    f"{origin!r} is no site",
                    remedy="write it as browsers do, as in https://panel.example",
                )
        has_users = settings.access.passwords is not None or (
            listener.tls is not None and listener.tls.authorities is not None
        )
        if not listener.anonymous and not has_users:
            raise SettingError(
                place,
                f"The listener {listener.address} could let nobody in",
                remedy="set access.passwords, tls.authorities, or anonymous = true",
            )


def _check_peers(peers: PeerLinkSettings) -> None:
    """Refuse a door for brokers that would be open to anybody beyond this machine."""
    for key, address in (("listen", peers.listen), ("advertise", peers.advertise)):
        if address is not None:
            _check_address(("peers", key), address)
    for address in peers.join:
        _check_address(("peers", "join"), address)
    _check_at_least(("peers", "heartbeat_s"), peers.heartbeat_s, 0.1)
    if peers.tls is not None and peers.tls.authorities is None:
        raise SettingError(
            ("peers", "tls"),
            "peers.tls has no authorities, so brokers could not know each other",
            remedy="name those that signed their certificates",
        )
    if not is_loopback(parse_address(peers.listen)) and not (peers.secret_file or peers.tls):
        raise SettingError(
            ("peers", "listen"),
            f"Brokers are let in at {peers.listen}, which others than this machine may reach, and "
            "anybody could join",
            remedy=HOW_TO_CLOSE,
        )


def _check_telemetry(telemetry: TelemetrySettings) -> None:
    if telemetry.http is not None:
        _check_address(("telemetry", "http"), telemetry.http)
    _check_at_least(("telemetry", "trace_every_s"), telemetry.trace_every_s, 0.05)
    for name in ("trace_bytes_max", "trace_age_max_s", "trace_apart_s", "statement_every_s"):
        _check_at_least(("telemetry", name), getattr(telemetry, name), 0)


def _check_control(control: ControlSettings) -> None:
    """Refuse a door for orders that anybody could open, or where a token could be overheard."""
    if control.listen is None:
        return
    _check_address(("control", "listen"), control.listen)
    if control.token_file is None:
        raise SettingError(
            ("control", "listen"),
            f"Orders would be taken from anybody at {control.listen}",
            remedy="make a token (head -c 32 /dev/urandom | base64 > token) and name its file in "
            "control.token_file",
        )
    if control.tls is None and not is_loopback(parse_address(control.listen)):
        raise SettingError(
            ("control", "listen"),
            f"The token would go to {control.listen} for others to read",
            remedy="set control.tls, or listen on 127.0.0.1",
        )


def _check_address(place: Place, text: str) -> None:
    with of_setting(place):
        parse_address(text)


def _check_file(place: Place, path: Path) -> None:
    """Refuse a file that is not there, or that may not be read."""
    try:
        read_bytes(path)
    except InputFileError as error:
        raise SettingError(place, f"{path}: {error.problem}", remedy=error.remedy) from None


def _check_order(order: OrderSettings) -> None:
    for text in order.across_topics:
        place = ("order", "across_topics")
        try:
            wanted = parse_filter(text)
        except FilterError as error:
            raise SettingError(place, f"{text!r}: {error.problem}", remedy=error.remedy) from None
        if wanted.group is not None or wanted.clauses:
            raise SettingError(
                place, f"{text!r} asks for more than topics", remedy="write a plain topic filter"
            )


def _check_placement(placement: PlacementSettings) -> None:
    for name, least in (
        ("every_s", 0.1),
        ("gain_min", 0.0),
        ("load_weight", 0.0),
        ("load_slack", 0.0),
        ("rest_s", 0.0),
    ):
        _check_at_least(("placement", name), getattr(placement, name), least)
    _check_at_least(("placement", "cluster_size"), placement.cluster_size, CLUSTER_SIZE_MIN)


def _check_at_least(place: tuple[str, str], value: float, least: float) -> None:
    if not least <= value < math.inf:
        raise SettingError(
            place, f"{'.'.join(place)} is {value}", remedy=f"write {least:g} or more"
        )


def _refuse_negative(limits: LimitSettings) -> None:
    if not 0 <= limits.qos_max <= QOS_MAX:
        raise SettingError(
            ("limits", "qos_max"), f"limits.qos_max is {limits.qos_max}", remedy="write 0, 1 or 2"
        )
    for name, value in msgspec.structs.asdict(limits).items():
        if isinstance(value, int) and value < 0:
            raise SettingError(
                ("limits", name), f"limits.{name} is {value}", remedy="write 0 for no limit"
            )


def _files(settings: LiveSettings) -> list[tuple[Place, Path]]:
    """All files that must be there, and where they are named."""
    wanted: list[tuple[Place, Path | None]] = [
        (("access", "passwords"), settings.access.passwords),
        (("access", "rules"), settings.access.rules),
        (("peers", "secret_file"), settings.peers.secret_file),
        (("control", "token_file"), settings.control.token_file),
        (("adaptation", "link_costs"), settings.adaptation.link_costs),
        (("adaptation", "broker_costs"), settings.adaptation.broker_costs),
    ]
    encrypted: list[tuple[Place, TlsSettings | None]] = [
        (("listeners", number, "tls"), listener.tls)
        for number, listener in enumerate(settings.listeners)
    ]
    encrypted += [
        (("peers", "tls"), settings.peers.tls),
        (("control", "tls"), settings.control.tls),
    ]
    for place, tls in encrypted:
        if tls is not None:
            named = msgspec.structs.asdict(tls).items()
            wanted += [((*place, name), path) for name, path in named]
    return [(place, path) for place, path in wanted if path is not None]
