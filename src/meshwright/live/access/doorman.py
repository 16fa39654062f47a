"""Decides who a client is by what it shows, and says what each may read and write.

A client shows a certificate, a name with a password, or nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from meshwright.live.access.password_queue import PasswordQueue
from meshwright.live.access.passwords import Passwords, read_passwords
from meshwright.live.access.rules import ClientRules, Rules, read_rules
from meshwright.live.settings import AccessSettings, ListenerSettings
from meshwright.protocol.foundation.client_names import user_and_id
from meshwright.protocol.mqtt import packets

CLIENTS_KEPT_MAX = 65_536


@dataclass(frozen=True, slots=True)
class Acceptance:
    """Who it is, or the reason code of the refusal; has_password: a password said who."""

    user: str = ""
    refusal: int = packets.SUCCESS
    has_password: bool = False


class Doorman:
    """What the files of one broker say of users; has_rules: not everybody may do everything."""

    def __init__(self, settings: AccessSettings) -> None:
        self._settings = settings
        self._checks = PasswordQueue()
        self.has_rules = settings.rules is not None
        self.refuses_parts = settings.partly_readable == "refuse"
        self._passwords, self._rules = _read(settings)
        self._clients: dict[str, ClientRules] = {}

    def reload(self) -> None:
        """Go by what the files say now; if one is no good, nothing changes."""
        self._passwords, self._rules = _read(self._settings)
        self._clients.clear()

    def knows(self, user: str) -> bool:
        """True if there is a password of a user."""
        return self._passwords is not None and self._passwords.has(user)

    def may_read(self, client: str, topic: str) -> bool:
        """True if a client may get messages of a topic."""
        return self.rules_of(client).may("read", topic)

    def may_write(self, client: str, topic: str) -> bool:
        """True if a client may publish on a topic."""
        return self.rules_of(client).may("write", topic)

    def rules_of(self, client: str) -> ClientRules:
        """The rules of a client, by its name."""
        found = self._clients.get(client)
        if found is None:
            if len(self._clients) >= CLIENTS_KEPT_MAX:
                self._clients.clear()
            user, client_id = user_and_id(client)
            found = self._clients[client] = self._rules.of(client_id, user)
        return found

    async def accept(
        self,
        listener: ListenerSettings,
        connect: packets.Connect,
        certified: str | None,
        address: str,
    ) -> Acceptance:
        """Judge one client; certified: the name in its certificate; address: where it is."""
        if certified is not None and listener.certificate_is_user:
            return Acceptance(certified)
        if connect.user_name is not None and self._passwords is not None:
            check = partial(self._passwords.are_right, connect.user_name, connect.password or b"")
            is_right = await self._checks.check(address, check)
            if is_right is None:
                return Acceptance(refusal=packets.SERVER_BUSY)
            # The files may have been read anew meanwhile.
            if is_right and self.knows(connect.user_name):
                return Acceptance(connect.user_name, has_password=True)
            return Acceptance(refusal=packets.BAD_USER_NAME_OR_PASSWORD)
        if listener.anonymous:
            return Acceptance()
        return Acceptance(refusal=packets.NOT_AUTHORIZED)


def _read(settings: AccessSettings) -> tuple[Passwords | None, Rules]:
    passwords = None if settings.passwords is None else read_passwords(settings.passwords)
    return passwords, Rules() if settings.rules is None else read_rules(settings.rules)
