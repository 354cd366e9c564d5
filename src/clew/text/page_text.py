"""The text of a page that is read: without the targets of its links, and without its menus.

Pages of the web hold as many characters in addresses as in sentences, and lists of links around what they say. These
stay in the text of a passage, and weigh nothing: no word, name or vector is read from them. A text without links of
Markdown is read as it is.

Source: none; the share of link text in a block tells menus in most readers of web pages. Differs from the source:
lines in place of blocks of HTML.
"""

import re

_TARGET = re.compile(r"(?<=\]\()(?:[^()\n]|\([^()\n]{0,2000}+\)){1,4000}+(?=\))")
_LINK = re.compile(r"!?\[(?:[^\[\]\n]|\[[^\[\]\n]{0,500}+\](?!\()){0,1500}+\]\([^()\n]{0,4000}+\)")
_ABROAD = re.compile(r"\]\((?:[a-z][a-z0-9+.-]{1,20}+:|/|#|\))", re.I)  # not a file beside this one
_WORD = re.compile(r"[^\W_]+")
_FEWEST_LINKS = 3  # lines of links that are a menu
_OTHER_WORDS = 0.2  # share of the words of a line of links that are outside of them, at most
_FEWEST_WORDS = 20  # outside of links: a text with fewer is a list of links, not a page with a menu


def blank_unread(text: str, fill: str = " ") -> str:
    """Return a text of the same length with `fill` for each character of links' targets and of menus.

    A menu is three lines or more, with blank ones between them, whose words are those of links to other places, in a
    text that has words outside of links.
    """
    if "](" not in text:
        return text
    written, lines = text.split("\n"), _TARGET.sub(lambda target: fill * len(target.group()), text).split("\n")
    menus: list[int] = []
    run: list[int] = []
    others = 0
    for number, line in enumerate([*lines, "end"]):
        is_linking = "](" in line
        words = _WORD.findall(line.replace(fill, " ") if is_linking else line)
        outside = len(_WORD.findall(_without_links(line))) if is_linking else len(words)
        others += outside
        if is_linking and outside <= max(1, _OTHER_WORDS * len(words)) and _ABROAD.search(written[number]):
            run.append(number)
        elif words:
            menus += run if len(run) >= _FEWEST_LINKS else []
            run = []
    for number in menus if others > _FEWEST_WORDS else ():
        lines[number] = fill * len(lines[number])
    return "\n".join(lines)


def _without_links(line: str) -> str:
    count = 1
    while count:  # a picture within a link is within it
        line, count = _LINK.subn(" ", line)
    return line
