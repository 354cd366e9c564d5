"""The graph network on a torch device: equal to the one on numpy; on a GPU where there is one."""

import numpy as np
import pytest

from clew_lab.nn.device_network import DeviceQueryNetwork
from tests.devices import DEVICES
from tests.inference.test_query_network import SHAPES, make_case


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", SHAPES)
def test_scores_and_importances_are_those_of_numpy(shape: str, device: str) -> None:
    _, network, batch, relations = make_case(SHAPES[shape], 5)
    given = relations[:3] if SHAPES[shape].learned_inverse else relations
    given = network.with_inverses(given)[: batch.edges.relation_count]
    on_device = DeviceQueryNetwork(network, device)
    tolerance = 1e-5 if device == "cpu" else 0.1  # bfloat16 has 8 bits
    wanted = network.logits(batch, given)
    for _ in range(2):  # the second time the graph is on the device
        np.testing.assert_allclose(on_device.logits(batch, given), wanted, rtol=tolerance, atol=tolerance)
    for own, other in zip(
        on_device.edge_importances(batch, given, [1, 7]), network.edge_importances(batch, given, [1, 7]), strict=True
    ):
        np.testing.assert_allclose(own, other, rtol=10 * tolerance, atol=tolerance)
