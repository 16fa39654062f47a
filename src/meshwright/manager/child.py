"""A manager beside the brokers of meshwright up: one more process, started again when it fails."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec

from meshwright.files.writing import make_folder, private_opener
from meshwright.live.system.addresses import parse_address
from meshwright.manager.service import looking_address, shown_token
from meshwright.manager.settings import MANAGER_FOLDER, ManagerSettings, read_manager_settings

SETTINGS_NAME = "manager.toml"
LOG_NAME = "manager.log"
DELAY_S = 5.0
STOP_S = 20.0
ANSWER_S = 0.2


class ManagerChild:
    """The process; say: tells the operator what happened to it."""

    def __init__(self, data: Path, say: Callable[[str], None]) -> None:
        self._data = data
        self._say = say
        self._process: subprocess.Popen[bytes] | None = None
        self._ended_s: float | None = None
        self._is_told = False

    @property
    def log(self) -> Path:
        """Where it writes what happens."""
        return self._data / MANAGER_FOLDER / LOG_NAME

    def settings(self) -> ManagerSettings:
        """Those of the network's folder, if it has any; refused here if they cannot work."""
        path = self._data / SETTINGS_NAME
        return read_manager_settings(path) if path.exists() else ManagerSettings()

    def start(self) -> None:
        """Begin, with the settings of the network's folder if it has any."""
        settings = self._data / SETTINGS_NAME
        command = [sys.executable, "-m", "meshwright", "manager", "--data", str(self._data)]
        if settings.exists():
            command += ["--config", str(settings)]
        make_folder(self.log.parent, is_private=True)
        with open(self.log, "ab", opener=private_opener) as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )

    def look(self, now_s: float) -> None:
        """Start it again a while after it has ended; brokers run on without it."""
        if self._process is None:
            return
        if self._process.poll() is None:
            self._tell_where()
            return
        if self._ended_s is None:
            self._ended_s = now_s
            self._say(
                f"The manager has ended and is started again in {DELAY_S:g} s; brokers go on. See "
                f"{self.log}"
            )
        elif now_s >= self._ended_s + DELAY_S:
            self._ended_s = None
            self.start()

    def _tell_where(self) -> None:
        """Say once where the network is to be seen, when somebody answers there."""
        if self._is_told:
            return
        settings = self.settings()
        own = msgspec.structs.replace(settings, folder=self._data / MANAGER_FOLDER)
        address = parse_address(settings.rest.listen)
        with suppress(OSError), socket.create_connection((address.host, address.port), ANSWER_S):
            self._is_told = True
            seen = looking_address(f"http://{address}", shown_token(own))
            self._say(f"Look at the network: {seen}")

    def stop(self) -> None:
        """Ask it to stop, and end it if it does not."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
