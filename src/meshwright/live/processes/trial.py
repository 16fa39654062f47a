"""All that could keep a broker from starting, found out beforehand and left as it was."""

from __future__ import annotations

import socket
from contextlib import ExitStack

from meshwright.errors import OperatorError
from meshwright.files.tokens import read_token
from meshwright.files.writing import refuse_folder, refuse_unwritable
from meshwright.live.access.doorman import Doorman
from meshwright.live.access.tls import listening_context
from meshwright.live.disk.storage import refuse_unusable
from meshwright.live.operating.control_client import BrokerControl
from meshwright.live.operating.leases import Leases
from meshwright.live.peers.identity import KnownPeers, find_identity
from meshwright.live.processes.live_broker import peer_settings
from meshwright.live.settings import LiveSettings
from meshwright.live.system.addresses import Address, parse_address


def refuse_unstartable(settings: LiveSettings) -> bool:
    """Say in one sentence why a broker with these settings could not start.

    True if it runs already: then its disk and its ports are taken, by itself.
    """
    peer_settings(settings.peers)
    for listener in settings.listeners:
        if listener.tls is not None:
            listening_context(listener.tls)
    Doorman(settings.access)
    find_identity(settings.name, settings.folder)
    KnownPeers(settings.folder).open()
    telemetry, control = settings.telemetry, settings.control
    if control.token_file is not None:
        read_token(control.token_file)
    if control.tls is not None:
        listening_context(control.tls)
    Leases(settings.folder).open()
    if telemetry.log is not None:
        refuse_unwritable(telemetry.log)
    if telemetry.trace is not None:
        refuse_folder(telemetry.trace)
    running = BrokerControl(settings.folder).view()
    if running is not None and running.broker == settings.name:
        return True
    refuse_unusable(settings.folder)
    doors = [("listeners", listener.address) for listener in settings.all_listeners()]
    doors.append(("peers.listen", settings.peers.listen))
    if telemetry.http is not None:
        doors.append(("telemetry.http", telemetry.http))
    if control.listen is not None:
        doors.append(("control.listen", control.listen))
    with ExitStack() as held:
        for key, text in doors:
            _take(held, key, parse_address(text))
    return False


def _take(held: ExitStack, key: str, address: Address) -> None:
    """Listen at an address as a broker would, until all were tried."""
    try:
        found = socket.getaddrinfo(*address, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, kind, protocol, _name, place in dict.fromkeys(found):
            trial = held.enter_context(socket.socket(family, kind, protocol))
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                trial.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            trial.bind(place)
            trial.listen(1)
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise OperatorError(
            f"{key}: nothing can listen on {address} ({reason.lower()}); choose another address, "
            "or stop what listens there."
        ) from None
