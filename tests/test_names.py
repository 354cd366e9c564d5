"""Plain technical English in names and docstrings: verbs for actions, nouns for values, the field's terms."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "src" / "clew"

WORDS = """
preposition: about above across after against along among around at before behind below beneath beside between beyond by
preposition: during for from in inside into like near of off on onto outside over per since through toward towards under
preposition: until upon via with within without
participle: begun bound brought built caught chosen come done drawn driven eaten fallen fed felt found given gone grown
participle: heard held hidden kept known laid led left lent lost made meant met said seen sent shown shut sold sought
participle: spent spoken spread stood sung taken taught thought thrown told torn understood won worn written
no participle: bed embed exceed feed need proceed seed shed shred speed
banned: anew alone apart asked beside drawn heard kept laid lent likeness likest oftener parted patience said sought
banned: mend mended mending told untold worded
term: patience asked_verb kept_recall
"""


def words(kind: str) -> frozenset[str]:
    lines = [line.partition(": ") for line in WORDS.splitlines()]
    return frozenset(word for before, _, after in lines if before == kind for word in after.split())


PREPOSITIONS, BANNED, TERMS = words("preposition"), words("banned"), words("term")
PARTICIPLES, NO_PARTICIPLES = words("participle"), words("no participle")
BANNED_STARTS = re.compile(r"(What|Whose|How|Which|Who|Told|Of|That|Those|Gives? what)\b")
# Modules named for a state of what they hold: a published checkpoint, a fused ranking, an induced subgraph.
STATES = {"distributed", "fused", "induced", "pretrained", "published", "reranked", "routed", "rule_based"}


def is_participle(word: str) -> bool:
    return word in PARTICIPLES or (word.endswith("ed") and word not in NO_PARTICIPLES)


def trees() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        yield str(path.relative_to(PACKAGE)), ast.parse(path.read_text(encoding="utf-8"))


def named_nodes(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the line and name of all modules' classes, functions, parameters, constants and attributes of classes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.lineno, node.name
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
    for scope in (tree, *(node for node in ast.walk(tree) if isinstance(node, ast.ClassDef))):
        for node in ast.iter_child_nodes(scope):
            targets = [node.target] if isinstance(node, ast.AnnAssign) else getattr(node, "targets", [])
            yield from ((name.lineno, name.id) for name in targets if isinstance(name, ast.Name))


def test_functions_are_verbs_or_nouns() -> None:
    wrong = [
        f"{file}:{node.lineno} {node.name}"
        for file, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and "_" not in (word := node.name.strip("_"))
        and (word in PREPOSITIONS or is_participle(word))
    ]
    assert not wrong, "a bare participle or preposition says nothing: name the action or the value"


def test_banned_words_are_no_part_of_public_names() -> None:
    wrong = [
        f"{file}:{line} {name}"
        for file, tree in trees()
        for line, name in named_nodes(tree)
        if not name.startswith("_") and BANNED & set(without_terms(name).split("_"))
    ]
    assert not wrong, f"these words are not used in names: {', '.join(sorted(BANNED))}"


def without_terms(name: str) -> str:
    """Return a name in lower case with underscores, without the terms that are allowed."""
    plain = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
    for term in TERMS:
        plain = plain.replace(term, "")
    return plain


def test_files_and_folders_are_nouns() -> None:
    names = {part for path in PACKAGE.rglob("*.py") for part in path.relative_to(PACKAGE).with_suffix("").parts}
    wrong = [name for name in sorted(names - STATES) if name in PREPOSITIONS | BANNED or is_participle(name)]
    assert not wrong, "name a file or folder by what it holds"


@pytest.mark.parametrize("kind", [ast.Module, ast.ClassDef, ast.FunctionDef])
def test_docstrings_begin_with_a_verb_or_a_noun(kind: type[ast.Module | ast.ClassDef | ast.FunctionDef]) -> None:
    wrong = [
        f"{file}:{getattr(node, 'lineno', 1)} {docstring.splitlines()[0]}"
        for file, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, kind) and (docstring := ast.get_docstring(node)) and BANNED_STARTS.match(docstring)
    ]
    assert not wrong, "begin with a verb or a noun phrase"


def test_documentation_of_attributes_begins_with_a_verb_or_a_noun() -> None:
    wrong = [
        f"{file}:{node.lineno} {node.value.value.splitlines()[0]}"
        for file, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
        and BANNED_STARTS.match(node.value.value.strip())
    ]
    assert not wrong, "begin with a verb or a noun phrase"
