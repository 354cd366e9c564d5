"""Each mutation changes a place that is there, and names a test that is there; `make mutations` runs them."""

import ast

import pytest

from tests.faults.mutations import MUTATIONS, PACKAGE, ROOT, Mutation


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_a_mutation_has_its_place_and_its_test(mutation: Mutation) -> None:
    source = (PACKAGE / mutation.file).read_text(encoding="utf-8")
    assert source.count(mutation.old) == 1
    ast.parse(source.replace(mutation.old, mutation.new))
    file, _, test = mutation.test.partition("::")
    tree = ast.parse((ROOT / "tests" / file).read_text(encoding="utf-8"))
    assert test.partition("[")[0] in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
