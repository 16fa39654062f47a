"""Decides who a client is by what it shows: a certificate, a name with a password, or nothing."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from meshwright.live.access.passwords import Passwords, read_passwords
from meshwright.live.access.rules import Rules, read_rules
from meshwright.live.settings import AccessSettings, ListenerSettings
from meshwright.protocol import packets

CHECKS_AT_ONCE = 2


@dataclass(frozen=True, slots=True)
class Admission:
    """Who it is, or the reason code of the refusal."""

    user: str = ""
    refusal: int = packets.SUCCESS


class Doorman:
    """What the files of one broker say of users; rules is None where everybody may do anything."""

    def __init__(self, settings: AccessSettings) -> None:
        paths = settings.passwords, settings.rules
        self._passwords: Passwords | None = None if paths[0] is None else read_passwords(paths[0])
        self.rules: Rules | None = None if paths[1] is None else read_rules(paths[1])
        self._checks = asyncio.Semaphore(CHECKS_AT_ONCE)

    async def admit(
        self, listener: ListenerSettings, connect: packets.Connect, certified: str | None
    ) -> Admission:
        """Judge one client; certified is the name in its certificate."""
        if certified is not None and listener.certificate_is_user:
            return Admission(certified)
        if connect.user_name is not None and self._passwords is not None:
            async with self._checks:
                is_right = await asyncio.to_thread(
                    self._passwords.are_right, connect.user_name, connect.password or b""
                )
            if is_right:
                return Admission(connect.user_name)
            return Admission(refusal=packets.BAD_USER_NAME_OR_PASSWORD)
        if listener.anonymous:
            return Admission()
        return Admission(refusal=packets.NOT_AUTHORIZED)
