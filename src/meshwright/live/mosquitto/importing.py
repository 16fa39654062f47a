"""Writes the settings, rules and passwords of a broker that is to take Mosquitto's place."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from meshwright.errors import OperatorError
from meshwright.files.writing import make_folder, write_whole
from meshwright.live.mosquitto.access_files import passwords_of, rules_of
from meshwright.live.mosquitto.conf import ConfReader, Draft, ListenerDraft
from meshwright.live.mosquitto.lines import LeftOut, beside, conf_lines, left_out

SETTINGS, PASSWORDS, RULES = "broker.toml", "passwords", "rules"

Table = Mapping[str, str | int | bool]


class Imported(NamedTuple):
    """Which files were written, and what is not in them."""

    written: list[Path]
    kept_out: list[LeftOut]


def import_mosquitto(conf: Path, folder: Path) -> Imported:
    """Read a mosquitto.conf and the files that it names; write ours into a folder."""
    draft = ConfReader().read(conf_lines(conf))
    kept_out = draft.kept_out
    contents: dict[Path, bytes] = {}
    for key, name, convert in (
        ("password_file", PASSWORDS, passwords_of),
        ("acl_file", RULES, rules_of),
    ):
        line = draft.access.get(key)
        if line is not None:
            text, of_file = convert(beside(line.path, line.value))
            kept_out += of_file
            if key == "acl_file" and "\nuser " in f"\n{text}" and not _knows_users(draft):
                reason = "of its user lines none counts, as nobody's name is checked"
                kept_out.append(left_out(line, reason))
            contents[folder / name] = text.encode()
    listeners = [table for one in draft.listeners if (table := _listener(draft, one)) is not None]
    if not listeners:
        reasons = "; ".join(map(str, kept_out))
        raise OperatorError(
            f"{conf}: no listener can be taken over ({reasons}); change that first."
        )
    contents[folder / SETTINGS] = _settings(draft, listeners).encode()
    for path in contents:
        if path.exists():
            raise OperatorError(f"{path}: there is such a file already; choose another folder.")
    make_folder(folder)
    write_whole(contents, is_private=True)
    return Imported(list(contents), kept_out)


def _knows_users(draft: Draft) -> bool:
    return "password_file" in draft.access or any(one.identity_is_user for one in draft.listeners)


def _listener(draft: Draft, found: ListenerDraft) -> tuple[Table, Table] | None:
    """The tables of a listener and of its certificates; None if it is left out."""
    if found.refusal is not None:
        draft.kept_out.append(left_out(found.line, f"see line {found.refusal.number}"))
        return None
    if found.requires_certificate and "cafile" not in found.files:
        draft.kept_out.append(left_out(found.line, "require_certificate needs a cafile"))
        return None
    is_per_listener = draft.is_per_listener or found.anonymous is not None
    is_anonymous = found.anonymous if is_per_listener else draft.anonymous
    has_certificates = found.requires_certificate and found.identity_is_user
    if not is_anonymous and "password_file" not in draft.access and not has_certificates:
        draft.kept_out.append(left_out(found.line, "it could let nobody in"))
        return None
    table: Table = {
        "address": found.address,
        "transport": found.transport,
        "anonymous": bool(is_anonymous),
        "certificate_is_user": found.identity_is_user,
    }
    tls: dict[str, str | int | bool] = {}
    if "certfile" in found.files:
        certificate = found.files["certfile"]
        tls = {"certificate": certificate, "key": found.files.get("keyfile", certificate)}
        if found.requires_certificate:
            tls["authorities"] = found.files["cafile"]
    return table, tls


def _settings(draft: Draft, listeners: list[tuple[Table, Table]]) -> str:
    head: dict[str, str | int | bool] = {}
    if draft.durability is not None:
        head["durability"] = draft.durability
    parts = [_text("", head)]
    for table, tls in listeners:
        parts.append(_text("[[listeners]]", table))
        parts.append(_text("[listeners.tls]", tls))
    names = {"passwords": "password_file", "rules": "acl_file"}
    parts.append(
        _text("[access]", {name: name for name, key in names.items() if key in draft.access})
    )
    parts.append(_text("[limits]", draft.limits))
    telemetry: dict[str, str | int | bool] = {}
    if draft.sys_every_s is not None:
        telemetry["sys_every_s"] = draft.sys_every_s
    if draft.log is not None:
        telemetry["log"] = draft.log
    parts.append(_text("[telemetry]", telemetry))
    return "\n".join(part for part in parts if part)


def _text(head: str, table: Table) -> str:
    """A table of TOML, whose strings are written like those of JSON; nothing if it is empty."""
    if not table:
        return ""
    lines = [head] if head else []
    lines += [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in table.items()]
    return "".join(f"{line}\n" for line in lines)
