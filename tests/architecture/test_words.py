"""Every noun of the core is MQTT's, or has a line in the glossary."""

from __future__ import annotations

import ast
import re

from sources import PACKAGE, ROOT, parsed

CORE = PACKAGE / "protocol"
HEADS = re.compile(r"^- ((?:\*\*[^*]+\*\*(?:, )?(?:\n  )?)+):", re.MULTILINE)
HEAD = re.compile(r"\*\*([^*]+)\*\*")
WORDS = re.compile(r"[A-Z][a-z0-9]*")
# Nouns of the MQTT specifications, and what programs have whatever they are about.
OF_MQTT = {
    "client", "connection", "delivery", "filter", "identifier", "message", "packet", "property",
    "publishing", "queue", "retained", "session", "subscribing", "subscription", "topic", "will",
}  # fmt: skip
OF_PROGRAMS = {"body", "decoder", "list", "log", "state", "text", "version"}
# These are sentences: "MoveDone", "LinkUp".
SAYINGS = {"Message", "Event", "Effect"}


def test_every_noun_of_the_core_is_explained() -> None:
    explained = {*glossary_heads(), *OF_MQTT, *OF_PROGRAMS}
    assert not sorted(
        name for name in class_names() if not explained & {*forms(noun(name)), *forms(whole(name))}
    )


def test_no_word_is_explained_twice() -> None:
    found = list(glossary_heads())
    assert not {head for head in found if found.count(head) > 1}


def glossary_heads() -> list[str]:
    """What the glossary explains, in lower case; notes in brackets are left out."""
    text = (ROOT / "docs" / "GLOSSARY.md").read_text(encoding="utf-8")
    heads = [head for heads in HEADS.findall(text) for head in HEAD.findall(heads)]
    parts = [part for head in heads for part in re.sub(r" \([^)]*\)", "", head).split(", ")]
    return [part.lower() for part in parts]


def class_names() -> set[str]:
    """Classes of the core that are things, and not something that is said."""
    bases: dict[str, list[str]] = {}
    for path in CORE.rglob("*.py"):
        for node in parsed(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                names = [one for base in node.bases for one in ast.walk(base)]
                bases[node.name] = [one.id for one in names if isinstance(one, ast.Name)]
    return {name for name in bases if not is_saying(name, bases)}


def is_saying(name: str, bases: dict[str, list[str]]) -> bool:
    return name in SAYINGS or any(is_saying(base, bases) for base in bases.get(name, ()))


def noun(name: str) -> str:
    """The word that says what kind of thing a class is: SharedKeeper is a keeper."""
    return WORDS.findall(name)[-1].lower()


def whole(name: str) -> str:
    return " ".join(WORDS.findall(name)).lower()


def forms(word: str) -> set[str]:
    """A noun, its singular, and with a hyphen."""
    singular = {word, word.removesuffix("s"), word.removesuffix("es"), re.sub("ies$", "y", word)}
    return singular | {one.replace(" ", "-") for one in singular}
