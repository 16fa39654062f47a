"""Operators' questions and orders over HTTP: a socket in the broker's folder, and a public part.

Whoever may open the socket may see everything, end sessions, empty the broker and stop it; so may
who shows the token, where the settings let others than this machine ask. The public part tells
metrics, health and the network, and takes no orders.
"""

from __future__ import annotations

import asyncio
import hmac
import ssl
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import msgspec

from meshwright.errors import OperatorError
from meshwright.files.decoding import converted, decoded
from meshwright.files.tokens import read_token
from meshwright.live.access.tls import listening_context
from meshwright.live.clients.listener import Listener
from meshwright.live.host.host import Host
from meshwright.live.operating.http import (
    PLAN_BYTES_MAX,
    UNAUTHORIZED,
    Admit,
    HttpConnection,
    HttpGuests,
    Request,
    Response,
    json_response,
)
from meshwright.live.operating.leases import NUMBER_MAX, SECONDS_MAX, Leases, Seen
from meshwright.live.operating.unix_sockets import SOCKET_NAME, listening_socket
from meshwright.live.settings import ControlSettings
from meshwright.live.system.addresses import Address, parse_address
from meshwright.live.system.file_budget import file_budget
from meshwright.live.telemetry.carried import CarriedCounts
from meshwright.live.telemetry.lag import LoopLag
from meshwright.live.telemetry.meter import HandOvers
from meshwright.live.telemetry.metrics import CONTENT_TYPE, SLOW, Readings, metrics_text
from meshwright.model.designs import founded_as
from meshwright.model.plan import PLAN_VERSION, Plan
from meshwright.model.times import SECOND_US
from meshwright.protocol.foundation.events import EmptyingGiven, HoldingGiven
from meshwright.protocol.sessions.forgetting import MOVING, UNKNOWN

NO_REPORTS = "it records no telemetry; set telemetry.trace in its settings and start it again"

Ask = Callable[[Request], Response | Awaitable[Response]]


class ClusterMember(msgspec.Struct, frozen=True, kw_only=True):
    """A broker of the network, as another sees it; peers and clients: where it listens.

    round_trip_ms: a word to it and the answer, as measured.
    """

    broker: str
    is_alive: bool
    is_removed: bool
    peers: str
    clients: str
    round_trip_ms: float | None = None


class ClusterView(msgspec.Struct, frozen=True, kw_only=True):
    """The network as one broker sees it."""

    broker: str
    epoch: int
    design: str
    links: tuple[tuple[str, str], ...]
    brokers: tuple[ClusterMember, ...]


class TrafficView(msgspec.Struct, frozen=True, kw_only=True):
    """Messages that a broker sent to others, by class, and what was handed on to it, if counted.

    carried and delivered: of what clients publish; delivered: messages that it sent to clients.
    published: messages that it took from clients. by_peer: those of carried, by who handed them on;
    by_hops: its arrivals, by the hops they had made. dropped: messages that were not handed on, by
    the reason. hand_overs: sessions that it gave to other brokers, by mode.
    """

    broker: str
    sent: dict[str, int]
    carried: CarriedCounts | None
    delivered: int = 0
    published: int = 0
    by_peer: dict[str, int] = {}
    by_hops: dict[int, int] = {}
    dropped: dict[str, int] = {}
    hand_overs: dict[str, HandOvers] = {}


class Control:
    """Answers for one broker; stop is called when an operator stops it.

    address: where operators with the token ask, once it is open.
    """

    def __init__(self, host: Host, listeners: list[Listener], stop: Callable[[], None]) -> None:
        self._host = host
        self._listeners = listeners
        self._stop = stop
        self._lag = LoopLag()
        self._servers: list[asyncio.Server] = []
        self._doors: list[HttpGuests] = []
        self.address: Address | None = None
        self._path = host.folder / SOCKET_NAME
        self._leases = Leases(host.folder)
        self._public: dict[tuple[str, str], Ask] = {
            ("GET", "/metrics"): self._metrics,
            ("GET", "/healthz"): self._health,
            ("GET", "/readyz"): self._readiness,
            ("GET", "/cluster"): self._cluster,
        }
        self._all: dict[tuple[str, str], Ask] = {
            **self._public,
            ("GET", "/view"): self._view,
            ("GET", "/traffic"): self._traffic,
            ("GET", "/plan"): self._plan,
            ("POST", "/plan/apply"): self._apply,
            ("POST", "/plan/abort"): self._abort,
            ("POST", "/plan/undo"): self._undo,
            ("GET", "/reports"): self._reports,
            ("GET", "/reports/file"): self._report,
            ("POST", "/reports/taken"): self._report_taken,
            ("GET", "/lease"): self._lease_view,
            ("POST", "/lease"): self._lease,
            ("POST", "/drain"): self._drain,
            ("POST", "/fill"): self._fill,
            ("POST", "/adaptation/hold"): partial(self._hold, is_held=True),
            ("POST", "/adaptation/release"): partial(self._hold, is_held=False),
            ("POST", "/forget"): self._forget,
            ("POST", "/stop"): self._stop_asked,
        }

    async def open(self, public: str | None, private: ControlSettings) -> Address | None:
        """Begin to answer, once the broker has started; returns where the public part is."""
        loop = asyncio.get_running_loop()
        self._lag.start()
        self._leases.open()
        answer, operators = partial(self._answer, self._all), self._new_door()
        self._servers.append(
            await loop.create_unix_server(
                lambda: HttpConnection(answer, operators, body_bytes_max=PLAN_BYTES_MAX),
                sock=listening_socket(self._path),
            )
        )
        if private.listen is not None:
            await self._open_to_others(private, private.listen, self._new_door())
        if public is None:
            return None
        public_answer, strangers = partial(self._answer, self._public), self._new_door()
        server = await _server(
            public, "telemetry.http", lambda: HttpConnection(public_answer, strangers)
        )
        self._servers.append(server)
        return _bound(server)

    def _new_door(self) -> HttpGuests:
        self._doors.append(HttpGuests(file_budget().http))
        return self._doors[-1]

    async def _open_to_others(
        self, settings: ControlSettings, listen: str, guests: HttpGuests
    ) -> None:
        """Take orders from other machines, too."""
        assert settings.token_file is not None
        admit = _admit(read_token(settings.token_file).encode())
        answer = partial(self._answer, self._all)
        server = await _server(
            listen,
            "control.listen",
            lambda: HttpConnection(answer, guests, body_bytes_max=PLAN_BYTES_MAX, admit=admit),
            None if settings.tls is None else listening_context(settings.tls),
        )
        self._servers.append(server)
        self.address = _bound(server)

    async def _answer(self, asks: dict[tuple[str, str], Ask], request: Request) -> Response:
        ask = asks.get((request.method, request.path))
        if ask is None:
            return Response(404, b"There is no such thing here.\n")
        try:
            self._check_lease(request)
        except OperatorError as error:
            return _refusal(str(error))
        found = ask(request)
        return found if isinstance(found, Response) else await found

    def close(self) -> None:
        """Answer no more."""
        self._lag.stop()
        for server in self._servers:
            server.close()
        for guests in self._doors:
            guests.send_away()
        if self._servers:
            self._path.unlink(missing_ok=True)

    def readings(self) -> Readings:
        """All that metrics tell, as it is now."""
        host = self._host
        return Readings(
            meter=host.meter,
            view=host.view(),
            clients=len(host.clients),
            peers=len(host.peers.connected()),
            slow_dropped=self._slow_dropped(),
            connections_refused=self._listeners[0].crowd.refused_count if self._listeners else 0,
            sync_count=host.store.sync_count,
            sync_s=host.store.sync_s,
            loop_lag_s=self._lag.largest_s(),
            disk_is_full=host.disk_is_full,
            started_s=host.started_us / SECOND_US,
            reports=host.reports,
        )

    def _metrics(self, _request: Request) -> Response:
        return Response(200, metrics_text(self.readings()), CONTENT_TYPE)

    def _health(self, _request: Request) -> Response:
        return json_response({"broker": self._host.name, "is_healthy": True})

    def _readiness(self, _request: Request) -> Response:
        host = self._host
        brokers, departures = host.observe().overlay.brokers, host.departures()
        reasons = []
        if len(brokers) > 1 and not host.peers.connected():
            reasons.append("no other broker is connected")
        if host.disk_trouble is not None:
            reasons.append(host.disk_trouble)
        if departures.is_emptying:
            reasons.append("it is drained")
        elif departures.waiting:
            reasons.append(f"{departures.waiting} clients are about to be sent to other brokers")
        answer: dict[str, Any] = {"broker": host.name, "is_ready": not reasons}
        if reasons:
            answer["reason"] = "; ".join(reasons)
        return json_response(answer, 503 if reasons else 200)

    def _cluster(self, _request: Request) -> Response:
        host = self._host
        view = host.view()
        known = host.peers.brokers
        members = [
            ClusterMember(
                broker=name,
                is_alive=name in view.alive,
                is_removed=name in view.removed,
                peers=known[name].peers if name in known else "",
                clients=known[name].clients if name in known else "",
                round_trip_ms=view.round_trips_ms.get(name),
            )
            for name in sorted(view.overlay.brokers)
        ]
        return json_response(
            ClusterView(
                broker=host.name,
                epoch=view.epoch,
                design=founded_as(view.overlay),
                links=view.overlay.links,
                brokers=tuple(members),
            )
        )

    def _view(self, _request: Request) -> Response:
        return json_response(self._host.view())

    def _traffic(self, _request: Request) -> Response:
        meter = self._host.meter
        carried = meter.carried
        return json_response(
            TrafficView(
                broker=self._host.name,
                sent=meter.peer_messages_by_class(),
                carried=None if carried is None else carried.counts,
                delivered=sum(meter.sent_messages) - meter.system_sent,
                published=sum(meter.received_messages),
                by_peer={} if carried is None else carried.by_peer,
                by_hops={} if carried is None else carried.by_hops,
                dropped=self._dropped(),
                hand_overs=meter.hand_overs,
            )
        )

    def _dropped(self) -> dict[str, int]:
        """Messages that were not handed on, by the reason, those of slow clients among them."""
        found, slow = dict(self._host.meter.dropped), self._slow_dropped()
        return {**found, SLOW: slow} if slow else found

    def _slow_dropped(self) -> int:
        lines = (line for listener in self._listeners for line in listener.lines)
        return self._host.meter.slow_dropped + sum(line.dropped_count for line in lines)

    def _plan(self, _request: Request) -> Response:
        return json_response(self._host.plan_log.progress(self._host.view()))

    async def _apply(self, request: Request) -> Response:
        return await self._decide("apply", request.body)

    async def _undo(self, request: Request) -> Response:
        """Undo the plan in the body; without one, the last that was applied here."""
        return await self._decide("undo", request.body)

    async def _abort(self, _request: Request) -> Response:
        return await self._decide("abort", b"")

    async def _decide(self, action: str, body: bytes) -> Response:
        try:
            plan = decoded(body, Plan) if body or action == "apply" else None
        except msgspec.MsgspecError as error:
            return _refusal(f"this is no plan of version {PLAN_VERSION} ({error})")
        answer = await self._host.decide(action, plan)
        if answer.refusal is not None:
            return _refusal(answer.refusal)
        return json_response(
            {"broker": self._host.name, "plan": answer.plan, "epoch": answer.epoch}, 202
        )

    def _reports(self, _request: Request) -> Response:
        reports = self._host.reports
        return _refusal(NO_REPORTS) if reports is None else json_response(reports.files())

    async def _report(self, request: Request) -> Response:
        reports = self._host.reports
        if reports is None:
            return _refusal(NO_REPORTS)
        table, name = request.query.get("table", ""), request.query.get("name", "")
        path = reports.path(table, name)
        try:
            content = None if path is None else await asyncio.to_thread(path.read_bytes)
        except FileNotFoundError:
            content = None
        if content is None:
            return _refusal(f"it has no file {name!r} of the table {table!r} any more", 404)
        return Response(200, content, "application/vnd.apache.parquet")

    def _report_taken(self, request: Request) -> Response:
        reports = self._host.reports
        if reports is None:
            return _refusal(NO_REPORTS)
        try:
            reports.taken(request.query.get("table", ""), request.query.get("name", ""))
        except OperatorError as error:
            return _refusal(str(error).rstrip("."))
        return json_response({"broker": self._host.name, "files": len(reports.files())})

    def _lease_view(self, _request: Request) -> Response:
        return json_response(self._leases.view(self._host.clock.now_us()))

    def _lease(self, request: Request) -> Response:
        query = request.query
        try:
            wanted = converted(
                {"manager": query.get("manager", ""), "number": query.get("number", "")},
                Seen,
                strict=False,
            )
            seconds = float(query.get("seconds", ""))
        except (msgspec.ValidationError, ValueError):
            return _refusal("a lease needs manager=NAME, number=N and seconds=S", 400)
        is_number = 1 <= wanted.number <= NUMBER_MAX
        if not wanted.manager or not is_number or not 0 <= seconds <= SECONDS_MAX:
            return _refusal(
                "a lease needs a manager's name, a number above 0 and 0 to "
                f"{SECONDS_MAX:.0f} seconds",
                400,
            )
        try:
            return json_response(self._leases.ask(self._host.clock.now_us(), wanted, seconds))
        except OperatorError as error:
            return _refusal(str(error).rstrip("."))

    def _check_lease(self, request: Request) -> None:
        """Refuse orders of a manager that another has followed."""
        number = request.query.get("lease")
        if number is None or request.method == "GET":
            return
        is_number = number.isascii() and number.isdigit() and len(number) <= len(str(NUMBER_MAX))
        if not is_number or int(number) > NUMBER_MAX:
            raise OperatorError(f"{number[:40]!r} is no number of a lease")
        self._leases.check(int(number))

    def _drain(self, request: Request) -> Response:
        targets = tuple(name for name in request.query.get("to", "").split(",") if name)
        alive = set(self._host.view().alive) - {self._host.name}
        unknown = [name for name in targets if name not in alive]
        if unknown:
            return _refusal(f"{unknown[0]} is no other broker that lives; choose among the living")
        if not alive:
            return _refusal(f"no broker but {self._host.name} lives; nobody can take its clients")
        self._host.tell(EmptyingGiven(is_on=True, targets=targets))
        return json_response({"broker": self._host.name, "is_emptying": True})

    def _fill(self, _request: Request) -> Response:
        self._host.tell(EmptyingGiven(is_on=False))
        return json_response({"broker": self._host.name, "is_emptying": False})

    def _hold(self, _request: Request, *, is_held: bool) -> Response:
        """Whether this broker proposes changes of its tree; others go on unless told the same."""
        if self._host.view().adaptation == "off":
            return _refusal("it does not fit its tree to its traffic; see adaptation.rule")
        self._host.tell(HoldingGiven(is_held))
        return json_response(
            {"broker": self._host.name, "adaptation": self._host.view().adaptation}
        )

    async def _forget(self, request: Request) -> Response:
        client, name = request.query.get("client", ""), self._host.name
        record = await self._host.forget(client)
        if record.step == UNKNOWN:
            return _refusal(f"it keeps no session of {client}")
        if record.step == MOVING:
            return _refusal(f"the session of {client} moves between brokers; ask again in a moment")
        return json_response(
            {"broker": name, "messages": record.messages, "was_connected": record.was_connected}
        )

    def _stop_asked(self, _request: Request) -> Response:
        # Not before the answer is on its way.
        asyncio.get_running_loop().call_later(0.05, self._stop)
        return json_response({"broker": self._host.name, "is_stopping": True})


def _admit(token: bytes) -> Admit:
    def admit(authorization: str) -> Response | None:
        scheme, _, shown = authorization.partition(" ")
        is_right = hmac.compare_digest(shown.strip().encode("latin-1"), token)
        if scheme.lower() == "bearer" and is_right:
            return None
        return _refusal(
            "the token is wrong or missing; send Authorization: Bearer with that of the broker's "
            "control.token_file",
            UNAUTHORIZED,
        )

    return admit


async def _server(
    listen: str,
    key: str,
    make: Callable[[], asyncio.Protocol],
    tls: ssl.SSLContext | None = None,
) -> asyncio.Server:
    wanted = parse_address(listen)
    loop = asyncio.get_running_loop()
    try:
        return await loop.create_server(make, wanted.host, wanted.port, ssl=tls)
    except OSError as error:
        raise OperatorError(
            f"Nothing can listen on {wanted} ({error.strerror or error}); "
            f"choose another {key}, or stop what listens there."
        ) from error


def _bound(server: asyncio.Server) -> Address:
    return Address(*server.sockets[0].getsockname()[:2])


def _refusal(reason: str, status: int = 409) -> Response:
    return json_response({"reason": reason}, status)
