"""A local S3 server with a bucket, and the environment in which it is found."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

KEYS = {"aws_access_key_id": "key", "aws_secret_access_key": "secret", "aws_region": "us-east-1"}


@contextmanager
def object_store(bucket: str) -> Iterator[str]:
    """Run a server that has an empty bucket; yield its address."""
    server_module = pytest.importorskip("moto.server")
    boto3 = pytest.importorskip("boto3")
    server = server_module.ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    url = f"http://{host}:{port}"
    client = boto3.client(
        "s3", endpoint_url=url, region_name="us-east-1", aws_access_key_id="key", aws_secret_access_key="secret"
    )
    client.create_bucket(Bucket=bucket)
    client.close()
    yield url
    server.stop()


def use_object_store(url: str, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let indexes be found at the server of an address."""
    own = {"aws_endpoint_url": url, "aws_allow_http": "true", "aws_default_region": "us-east-1"}
    for name, value in {**KEYS, **own, "clew_cache": str(cache)}.items():
        monkeypatch.setenv(name.upper(), value)
