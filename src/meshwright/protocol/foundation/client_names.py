"""The name of a client in the network: its client id, and the user that it came in as.

A session belongs to its user: the same client id of two users is two clients, of which neither
finds, takes over or ends what the other has. `door` is the client id of an anonymous client,
`door@alice` that of alice. No two pairs of user and client id have the same name.
"""

from __future__ import annotations

MARK = "@"
_ESCAPES = (("%", "%25"), (MARK, "%40"))


def client_name(user: str, client_id: str) -> str:
    """The name of a client; user is empty for an anonymous one."""
    if not user and MARK not in client_id:
        return client_id
    for plain, escaped in _ESCAPES:
        user = user.replace(plain, escaped)
    return f"{client_id}{MARK}{user}"


def user_and_id(name: str) -> tuple[str, str]:
    """Which user a client came in as, and its client id."""
    client_id, mark, user = name.rpartition(MARK)
    if not mark:
        return "", name
    for plain, escaped in reversed(_ESCAPES):
        user = user.replace(escaped, plain)
    return user, client_id
