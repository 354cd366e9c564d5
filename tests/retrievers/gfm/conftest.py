"""The encoder that checkpoints of the published form name in these tests."""

import pytest

from tests.models.tiny_bert import write_tiny_bert


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the folder of a tiny BERT."""
    folder = tmp_path_factory.mktemp("tiny") / "bert"
    write_tiny_bert(folder)
    return str(folder)
