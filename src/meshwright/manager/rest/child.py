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
from meshwright.live.processes.local_network import let_go
from meshwright.live.system.addresses import parse_address
from meshwright.manager.rest.service import looking_address, shown_token, token_path
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
        if not self._is_told and (seen_at := self.seen_at()) is not None:
            self._is_told = True
            self._say(f"Look at the network: {seen_at}")

    def seen_at(self) -> str | None:
        """Where the network is to be seen, once somebody answers there."""
        own = self._own_settings()
        address = parse_address(own.rest.listen)
        with suppress(OSError), socket.create_connection((address.host, address.port), ANSWER_S):
            return looking_address(f"http://{address}", shown_token(own))
        return None

    @property
    def token_path(self) -> Path:
        """Where the token is that whoever orders something must show."""
        return token_path(self._own_settings())

    def _own_settings(self) -> ManagerSettings:
        return msgspec.structs.replace(self.settings(), folder=self._data / MANAGER_FOLDER)

    def has_ended(self) -> bool:
        """Whether the process is over."""
        return self._process is not None and self._process.poll() is not None

    def let_go(self) -> None:
        """Leave it to itself: it runs on when this process ends."""
        if self._process is not None:
            let_go(self._process)
            self._process = None

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
