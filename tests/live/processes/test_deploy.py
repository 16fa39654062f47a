"""The files for systemd and containers say nothing that the command does not know."""

from __future__ import annotations

import configparser
import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from meshwright.cli.brokers.live_options import known_brokers
from meshwright.cli.main import app
from meshwright.files.overlays import read_overlay
from meshwright.files.settings import read_settings
from meshwright.live.settings import LiveSettings
from meshwright.live.system.addresses import parse_address
from meshwright.planning.founding import founding_overlay

ROOT = Path(__file__).parents[3]
DEPLOY = ROOT / "deploy"
COMPOSE = DEPLOY / "compose"


class Unit(configparser.ConfigParser):
    """A systemd unit, whose keys are written with capitals."""

    def optionxform(self, optionstr: str) -> str:
        return optionstr


def unknown_options(words: list[str]) -> list[str]:
    """The options of `meshwright broker ...` that there are not."""
    command: Any = typer.main.get_command(app)
    assert words[0] == "broker"
    parameters = command.commands["broker"].params
    known = {name for parameter in parameters for name in parameter.opts}
    return [word for word in words if word.startswith("-") and word not in known]


def services() -> dict[str, Any]:
    document = yaml.safe_load((COMPOSE / "compose.yaml").read_text())
    found = document["services"]
    assert set(document["volumes"]) == set(found)
    assert isinstance(found, dict)
    return found


def settings_of(name: str) -> LiveSettings:
    path = COMPOSE / f"{name}.toml"
    return read_settings(path, LiveSettings, documented_in="docs/broker.toml")


def test_the_unit_runs_the_command_as_it_is() -> None:
    unit = Unit(interpolation=None)
    unit.read(DEPLOY / "meshwright.service")
    assert set(unit.sections()) == {"Unit", "Service", "Install"}
    for key in ("ExecStartPre", "ExecStart"):
        program, *words = shlex.split(unit["Service"][key])
        assert Path(program).name == "meshwright"
        assert not unknown_options(words)
    assert unit["Service"]["KillSignal"] == "SIGTERM"
    assert int(unit["Service"]["TimeoutStopSec"]) >= 10


def test_the_container_is_made_of_what_is_there() -> None:
    text = (DEPLOY / "Containerfile").read_text()
    copied = re.findall(r"^COPY (.+) \S+$", text, re.MULTILINE)
    assert copied
    for names in copied:
        for name in names.split():
            assert (ROOT / name).exists(), name
    lines = re.findall(r"^(ENTRYPOINT|CMD) (.+)$", text, re.MULTILINE)
    found = {key: json.loads(value) for key, value in lines}
    assert found["ENTRYPOINT"] == ["meshwright"]
    assert not unknown_options(found["CMD"])
    version = re.search(r'requires-python = ">=([\d.]+)', (ROOT / "pyproject.toml").read_text())
    assert version is not None
    assert f"python:{version[1]}-slim" in text


@pytest.mark.parametrize("name", ["broker1", "broker2", "broker3"])
def test_every_broker_of_the_compose_file_can_start(name: str) -> None:
    service = services()[name]
    assert not unknown_options(service["command"])
    mounted = dict(volume.split(":")[:2] for volume in service["volumes"])
    inside = {target: source for source, target in mounted.items()}
    for word in service["command"]:
        if word.startswith("/etc"):
            assert (COMPOSE / inside[word]).is_file()
    assert inside["/etc/meshwright/broker.toml"] == f"./{name}.toml"
    settings = settings_of(name)
    assert settings.name == name
    assert str(settings.folder) in inside
    assert str(settings.peers.secret_file) == "/run/secrets/peers"
    published = dict(reversed(port.rsplit(":", 1)) for port in service["ports"])
    listener = settings.listeners[0]
    assert listener.advertise is not None
    outside = published[str(parse_address(listener.address).port)]
    assert outside == f"127.0.0.1:{parse_address(listener.advertise).port}"
    assert settings.telemetry.http is not None
    assert str(parse_address(settings.telemetry.http).port) in published


def test_the_brokers_of_the_compose_file_know_each_other() -> None:
    names = tuple(services())
    assert read_overlay(COMPOSE / "overlay.json") == founding_overlay("chord", names)
    known = known_brokers(COMPOSE / "brokers.json")
    assert tuple(known) == names
    for name, whereabouts in known.items():
        settings = settings_of(name)
        assert whereabouts.peers == settings.peers.advertise
        assert whereabouts.clients == settings.listeners[0].advertise
