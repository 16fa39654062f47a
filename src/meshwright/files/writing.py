"""Files appear whole under their name, or not at all."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from meshwright.errors import OperatorError

PRIVATE_FILE = 0o600
PRIVATE_FOLDER = 0o700
# Of a private file that stands already, what its owner may have allowed a group stays.
KEPT_OF_PRIVATE = 0o640


def write_whole(contents: Mapping[Path, bytes], *, is_private: bool = False) -> None:
    """Write some files together: none gets its name before all are safely on disk.

    Each is written under a temporary name in its own folder, synced and renamed; a failure removes
    the temporary files and leaves what stood there before. is_private: for the owner's eyes, and
    for those of the group that the file had before.
    """
    staged: list[tuple[Path, Path]] = []
    try:
        for path, content in contents.items():
            target = refuse_unwritable(path)
            temporary = target.with_name(f".meshwright-{secrets.token_hex(8)}.tmp")
            staged.append((temporary, target))
            _write_synced(temporary, content, target if is_private else None)
        for temporary, target in staged:
            temporary.replace(target)
        for folder in dict.fromkeys(target.parent for _, target in staged):
            _sync_folder(folder)
    except OSError as error:
        raise OperatorError(
            f"{' and '.join(map(str, contents))}: this cannot be written "
            f"({(error.strerror or str(error)).lower()}); make room or choose another folder."
        ) from error
    finally:
        for temporary, _ in staged:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)


def refuse_unwritable(path: Path) -> Path:
    """The real file behind an output path; says in one sentence why it could not be written."""
    try:
        target = path.resolve()
        folder_exists, folder_writable = target.parent.is_dir(), os.access(target.parent, os.W_OK)
        mode = target.stat().st_mode if target.exists() else stat.S_IFREG
    except (OSError, RuntimeError, ValueError) as error:
        raise OperatorError(
            f"{path}: this name cannot be used for a file ({error}); choose another."
        ) from None
    if stat.S_ISDIR(mode):
        raise OperatorError(f"{path}: this is a folder; name a file inside it.")
    if not stat.S_ISREG(mode):
        raise OperatorError(f"{path}: this is not an ordinary file; choose another name.")
    if not folder_exists:
        raise OperatorError(f"{path}: its folder does not exist; create {path.parent} first.")
    if not folder_writable:
        raise OperatorError(f"{path}: {why_closed(target.parent)}; choose another folder.")
    return target


def refuse_folder(path: Path) -> None:
    """Say in one sentence why no files could be written to a folder, which may not be there yet."""
    try:
        standing = next(
            folder for folder in (path.absolute(), *path.absolute().parents) if folder.exists()
        )
    except OSError as error:
        raise OperatorError(
            f"{path}: this folder cannot be reached ({(error.strerror or str(error)).lower()}); "
            "choose another."
        ) from None
    if not standing.is_dir():
        raise OperatorError(f"{path}: a file is in the way; name a folder.")
    if not os.access(standing, os.W_OK | os.X_OK):
        raise OperatorError(f"{path}: {why_closed(standing)}; choose another folder.")


def why_closed(folder: Path) -> str:
    """What keeps this user from writing to a folder."""
    if os.statvfs(folder).f_flag & os.ST_RDONLY:
        return f"{folder} is on a read-only file system"
    return f"{folder} may not be written by this user"


def make_folder(path: Path, *, is_private: bool = False) -> Path:
    """The folder, created with its parents where it is missing; private: for its owner alone."""
    try:
        path.mkdir(PRIVATE_FOLDER if is_private else 0o777, parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise OperatorError(f"{path}: a file is in the way; name a folder.") from None
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise OperatorError(
            f"{path}: the folder cannot be created ({reason}); choose another."
        ) from None
    return path


def private_opener(path: str, flags: int) -> int:
    """For open(): a file that is made is for its owner's eyes alone."""
    return os.open(path, flags, PRIVATE_FILE)


def _write_synced(path: Path, content: bytes, private: Path | None) -> None:
    """Write a new file; private: the file that it will replace, if it is for few eyes."""
    opener = None if private is None else private_opener
    with open(path, "xb", opener=opener) as file:
        if private is not None and private.exists():
            _resemble(file.fileno(), private)
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _resemble(descriptor: int, former: Path) -> None:
    """Let those read a private file who could read the one before, but not everybody."""
    found = former.stat()
    with suppress(PermissionError):
        os.fchown(descriptor, found.st_uid, found.st_gid)
        os.fchmod(descriptor, PRIVATE_FILE | found.st_mode & KEPT_OF_PRIVATE)


def _sync_folder(folder: Path) -> None:
    """Make the renames themselves durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
