"""Settings of a live broker out of a file and out of options, which count more."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from meshwright.errors import InputFileError, OperatorError
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
    design: str | None = None,
    placement: PlacementRule | None = None,
    adaptation: AdaptationRule | None = None,
) -> LiveSettings:
    """The file's settings, with what was given as an option in their place."""
    # What a file lacks may be given as an option, so only both together are judged.
    settings = LiveSettings()
    if config is not None:
        settings = read_settings(config, LiveSettings, documented_in=DOCUMENTED_IN)
    changes: dict[str, Any] = {}
    if name is not None:
        changes["name"] = name
    if folder is not None:
        changes["folder"] = folder
    if listen is not None:
        # Who may come in, and how, is as the file says of its first listener.
        first = settings.listeners[0] if settings.listeners else ListenerSettings(anonymous=True)
        changes["listeners"] = (msgspec.structs.replace(first, address=listen, advertise=None),)
    if http is not None:
        changes["telemetry"] = msgspec.structs.replace(settings.telemetry, http=http)
    if design is not None:
        changes["design"] = design
    if placement is not None:
        changes["placement"] = msgspec.structs.replace(settings.placement, rule=placement)
    if adaptation is not None:
        changes["adaptation"] = msgspec.structs.replace(settings.adaptation, rule=adaptation)
    links: dict[str, Any] = {}
    if peer_listen is not None:
        links["listen"] = peer_listen
    if join:
        links["join"] = tuple(join)
    if secret is not None:
        links["secret_file"] = secret
    options = {(key,) for key in changes} | {("peers", key) for key in links}
    changes["peers"] = msgspec.structs.replace(settings.peers, **links)
    with blaming_settings(config, frozenset(options)):
        return check_settings(msgspec.structs.replace(settings, **changes))


def known_brokers(path: Path) -> dict[str, Whereabouts]:
    """Where brokers listen, from a file."""
    try:
        found = msgspec.json.decode(read_bytes(path), type=dict[str, Whereabouts])
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
