"""Parameters as the words of a command, so that whatever was run can be run again."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

import msgspec

from meshwright.errors import OperatorError
from meshwright.sim.scenario.parameters import SimulationParameters

# Parameters for which the command has an option of their own; the others are set by name.
OPTIONS = {
    "design": "--design",
    "brokers": "--brokers",
    "clients": "--clients",
    "duration_s": "--duration",
    "faults": "--faults",
    "reconfigure": "--reconfigure",
    "adapts": "--adapt",
    "mobility": "--mobility",
    "k": "--k",
}
FIELDS = {one.name: one for one in msgspec.structs.fields(SimulationParameters)}
SETTABLE = tuple(name for name in FIELDS if name not in OPTIONS)


def replay_command(parameters: SimulationParameters, seed: int) -> str:
    """The command that runs one seed again, with every parameter that is not as usual."""
    words = ["meshwright", "simulate"]
    for name, field in FIELDS.items():
        value = getattr(parameters, name)
        if value == field.default:
            continue
        if name not in OPTIONS:
            words += ["--set", f"{name}={msgspec.json.encode(value).decode()}"]
        elif value is True:
            words.append(OPTIONS[name])
        else:
            words += [OPTIONS[name], ",".join(value) if name == "faults" else str(value)]
    return shlex.join([*words, "--seeds", str(seed)])


def read_settings(texts: Iterable[str]) -> dict[str, Any]:
    """Parameters by name from texts such as changes_per_s=5; values are as in JSON."""
    found: dict[str, Any] = {}
    for text in texts:
        name, _, value = text.partition("=")
        if name not in SETTABLE:
            near = get_close_matches(name, SETTABLE, n=1) or SETTABLE
            raise OperatorError(f"There is no setting {name!r}; choose from {', '.join(near)}.")
        try:
            found[name] = msgspec.json.decode(value.encode(), type=FIELDS[name].type)
        except msgspec.MsgspecError as error:
            raise OperatorError(f"{text!r} cannot be read ({error}); write {name}=VALUE.") from None
    return found
