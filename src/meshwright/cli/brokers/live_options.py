"""Settings of a live broker out of a file and out of options, which count more."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from meshwright.errors import InputFileError, OperatorError
from meshwright.files.decoding import decoded
from meshwright.files.reading import read_bytes
from meshwright.files.settings import blaming_settings, read_settings
from meshwright.live.settings import (
    DOCUMENTED_IN,
    ListenerSettings,
    LiveSettings,
    check_settings,
)
from meshwright.live.system.addresses import Whereabouts, parse_address
from meshwright.model.designs import AdaptationRule, PlacementRule


def combined_settings(
    config: Path | None,
    *,
    name: str | None,
    listen: str | None,
    peer_listen: str | None,
    folder: Path | None,
    join: list[str] | None = None,
    secret: Path | None = None,
    http: str | None = None,
    control: str | None = None,
    trace: Path | None = None,
    design: str | None = None,
    placement: PlacementRule | None = None,
    adaptation: AdaptationRule | None = None,
) -> LiveSettings:
    """The file's settings, with what was given as an option in their place."""
    # What a file lacks may be given as an option, so only both together are judged.
    settings = LiveSettings()
    if config is not None:
        settings = read_settings(config, LiveSettings, documented_in=DOCUMENTED_IN)
    changes = _given(name=name, folder=folder, design=design)
    if listen is not None:
        # Who may come in, and how, is as the file says of its first listener.
        first = settings.listeners[0] if settings.listeners else ListenerSettings(anonymous=True)
        changes["listeners"] = (msgspec.structs.replace(first, address=listen, advertise=None),)
    options = {(key,) for key in changes}
    tables = {
        "telemetry": _given(http=http, trace=trace),
        "control": _given(listen=control),
        "placement": _given(rule=placement),
        "adaptation": _given(rule=adaptation),
        "peers": _given(listen=peer_listen, join=tuple(join) if join else None, secret_file=secret),
    }
    for table, given in tables.items():
        changes[table] = msgspec.structs.replace(getattr(settings, table), **given)
    places = options | {(table, key) for table, given in tables.items() for key in given}
    with blaming_settings(config, frozenset(places)):
        return check_settings(msgspec.structs.replace(settings, **changes))


def _given(**options: Any) -> dict[str, Any]:
    return {key: value for key, value in options.items() if value is not None}


def known_brokers(path: Path) -> dict[str, Whereabouts]:
    """Where brokers listen, from a file."""
    try:
        found = decoded(read_bytes(path), dict[str, Whereabouts])
    except msgspec.MsgspecError as error:
        raise InputFileError(
            str(path), f"this says not where brokers are ({error})", remedy="write it again"
        ) from None
    for name, whereabouts in found.items():
        try:
            parse_address(whereabouts.peers)
        except OperatorError as error:
            problem, _, remedy = str(error).rstrip(".").partition("; ")
            raise InputFileError(str(path), f"{name}: {problem}", remedy=remedy) from None
    return found
