"""meshwright passwd: the users that a broker lets in."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer


def passwd(
    file: Annotated[Path, typer.Argument(help="The file of passwords; made if it is not there.")],
    user: Annotated[str, typer.Argument(help="Whose password.")],
    *,
    delete: Annotated[bool, typer.Option("--delete", help="Take the user out.")] = False,
    from_stdin: Annotated[
        bool, typer.Option("--stdin", help="Read the password from the standard input.")
    ] = False,
) -> None:
    """Set, change or remove a user's password.

    Example: meshwright passwd passwords alice
    """
    from meshwright.live.access.passwords import remove_user, set_password

    if delete:
        remove_user(file, user)
        typer.echo(f"{file}: {user} is gone.")
        return
    if from_stdin:
        password = sys.stdin.buffer.readline().rstrip(b"\r\n")
    else:
        password = typer.prompt(
            f"Password of {user}", hide_input=True, confirmation_prompt=True
        ).encode()
    had_one = set_password(file, user, password)
    typer.echo(f"{file}: {user} has {'a new' if had_one else 'a'} password.")
