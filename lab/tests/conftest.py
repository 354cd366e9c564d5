"""The fixtures of the tests of Clew, for those of its laboratory."""

from tests.conftest import (
    _enable_ctrl_c,
    _encode_each_text_once,
    _isolate_from_user_and_network,
    plain_folder,
    plain_polar,
    polar,
    pytest_configure,
    pytest_unconfigure,
    small,
    small_folder,
)

__all__ = [
    "_enable_ctrl_c", "_encode_each_text_once", "_isolate_from_user_and_network", "plain_folder",
    "plain_polar", "polar", "pytest_configure", "pytest_unconfigure", "small", "small_folder",
]  # fmt: skip
