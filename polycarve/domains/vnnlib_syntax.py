"""The text of a VNN-LIB file as nested nodes that know where they stand, for errors by line."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from polycarve.errors import DomainError

_TOKEN = re.compile(
    r"""(?P<gap> \s+ | ;[^\n]* ) | (?P<open> \( ) | (?P<close> \) )
      | (?P<word> "(?:[^"]|"")*" | \|[^|]*\| | [^\s()";|]+ )""",
    re.VERBOSE,
)


def read_text(path: str | Path) -> str:
    """Return the text of a file, whatever ends its lines."""
    try:
        data = Path(path).read_bytes()
    except FileNotFoundError:
        raise DomainError(f"{path}: no such file.") from None
    except IsADirectoryError:
        raise DomainError(f"{path} is a folder. Give a VNN-LIB file.") from None
    except TypeError:
        raise DomainError(f"{path!r} is no path. Give the name of a VNN-LIB file.") from None
    except (OSError, ValueError) as error:
        raise DomainError(f"{path} cannot be read: {error}.") from None
    if data.startswith(b"\x1f\x8b"):
        raise DomainError(f"{path} is compressed. Unpack it first (gunzip).")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise DomainError(f"{path} is no text, so it is no VNN-LIB file.")
    return text.replace("\r\n", "\n").replace("\r", "\n")


@dataclass(slots=True, eq=False, repr=False)
class Node:
    """A word, or a list in parentheses, at ``text[start:stop]`` of its source."""

    start: int
    stop: int
    word: str = ""
    items: list[Node] = field(default_factory=list)

    @property
    def head(self) -> str:
        return self.items[0].word if self.items else ""


@dataclass(frozen=True)
class Source:
    """A file's name and text, to point at places in it."""

    path: str
    text: str

    def refuse(self, node: Node, why: str) -> NoReturn:
        line = self.text.count("\n", 0, node.start) + 1
        raise DomainError(f"{self.path}, line {line}: {why}.")

    def quote(self, node: Node) -> str:
        words = " ".join(re.sub(r";[^\n]*", "", self.text[node.start : node.stop]).split())
        return words if len(words) <= 60 else words[:57] + "..."


def parse(source: Source) -> list[Node]:
    """Return the commands of a file."""
    top = Node(0, 0)
    open_lists, at = [top], 0
    while at < len(source.text):
        token = _TOKEN.match(source.text, at)
        if token is None:
            source.refuse(Node(at, at), f"the quotation mark {source.text[at]} is never closed")
        node = Node(at, token.end(), token["word"] or "")
        at = token.end()
        if token["gap"]:
            continue
        if token["close"]:
            if len(open_lists) == 1:
                source.refuse(node, "this ) closes nothing. Check the parentheses before it")
            open_lists.pop().stop = at
            continue
        if token["word"] and len(open_lists) == 1:
            source.refuse(
                node, f"{source.quote(node)!r} stands outside of parentheses; is this VNN-LIB?"
            )
        if node.word[0:1] == "|":  # another way to write the same name
            node.word = node.word[1:-1]
        open_lists[-1].items.append(node)
        if token["open"]:
            open_lists.append(node)
    if len(open_lists) > 1:
        source.refuse(
            open_lists[1], "this ( is never closed. The file is cut off, or lacks a parenthesis"
        )
    return top.items
