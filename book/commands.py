"""docs/reference/commands.md: every command and option, as `--help` tells them."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Iterator
from typing import Any

import typer.main
from typer.core import TyperGroup

from book.markdown import WIDTH, block, code, item, page, paragraph
from meshwright.cli.main import app
from meshwright.model.designs import DESIGNS

HEAD = """# Commands

Every command has `--help`, and this page is made of it. Where something is left to chance there is
`--seed`, or `--seeds` for many runs. Exit code 0 is yes, 1 is no, 2 means that the input is wrong
and one sentence says where; 130 is Ctrl-C. `meshwright --version` prints the version, and
`meshwright --install-completion` teaches your shell the names of commands and options."""
# The same in every help that takes a design, where nobody can follow a link.
ALL_DESIGNS = ", ".join(DESIGNS)
A_DESIGN = "a name of docs/designs.md"
EXAMPLE = "Example: "


def commands_page() -> str:
    """The page."""
    found = dict(every_command())
    return page(
        HEAD,
        _without_json(found),
        "\n".join(item(_link(words), _summary(one)) for words, one in found.items()),
        *(piece for words, one in found.items() for piece in _told(words, one)),
    )


def every_command() -> Iterator[tuple[str, Any]]:
    """The words of each command, and the command; those of a group together."""

    def below(group: Any, words: str) -> Iterator[tuple[str, Any]]:
        for name, command in group.commands.items():
            named = f"{words} {name}".strip()
            if isinstance(command, TyperGroup):
                yield from below(command, named)
            else:
                yield named, command

    yield from below(typer.main.get_command(app), "")


def _without_json(found: dict[str, Any]) -> str:
    silent = [
        f"`{words}`"
        for words, command in found.items()
        if not any("--json" in one.opts for one in command.params)
    ]
    named = f"{', '.join(silent[:-1])} and {silent[-1]}"
    return (
        f"All but {named}, which leave something\nrunning or behind, answer with `--json` as "
        "[Files](../FILES.md#answers-of-the-command-line---json)\ndescribes."
    )


def _link(words: str) -> str:
    return f"[{words}](#{words.replace(' ', '-')})"


def _told(words: str, command: Any) -> Iterator[str]:
    """One command: what it does, examples, arguments and options."""
    context = typer.Context(command, info_name=f"meshwright {words}")
    yield f"## {words}"
    usage = " ".join(command.collect_usage_pieces(context))
    examples = []
    for told in inspect.cleandoc(command.help or "").replace("\f", "").split("\n\n"):
        if told.startswith(EXAMPLE):
            examples.append(" ".join(told.removeprefix(EXAMPLE).split()))
        else:
            yield paragraph(told)
    yield block("\n".join([f"meshwright {words} {usage}", *map(_folded, examples)]), "sh")
    records = [record for one in command.params if (record := one.get_help_record(context))]
    yield "\n".join(
        item(code(names), meaning.replace(ALL_DESIGNS, A_DESIGN)) for names, meaning in records
    )


def _folded(example: str) -> str:
    """A command that goes on in the next line where it is too long."""
    return " \\\n    ".join(textwrap.wrap(example, WIDTH - 6, break_on_hyphens=False))


def _summary(command: Any) -> str:
    """The first paragraph of a help."""
    return " ".join(inspect.cleandoc(command.help or "").split("\n\n")[0].split())
