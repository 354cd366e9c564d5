"""Compare the message kernels with plain torch: `python bench/message_kernels.py`.

Six layers at width 512, exact, on a random graph of HotpotQA's size. Each variant runs in a process of its own, so that
peak memory is measured separately.
"""

import subprocess
import sys
import time

import torch

from clew.inference.query_network import QueryGNNSettings
from clew.nn import query_gnn
from clew.nn.query_gnn import QueryGNN
from clew.nn.relational.conv import relational_conv
from clew.nn.relational.graph import RelationalGraph
from workbench import ROOT, describe_machine, print_table

sys.path.insert(0, str(ROOT))

from tests.nn.relational.plain_conv import plain_relational_conv

NODES, EDGES, RELATIONS = 87_768, 558_224, 1_000


def main() -> None:
    """Print seconds and peak memory of both variants, and the ratio."""
    if len(sys.argv) > 1:
        print(*measure(sys.argv[1]))
        return
    print(describe_machine())
    rows, seconds = [], {}
    for name in ("plain torch", "fused"):
        done = subprocess.run([sys.executable, __file__, name], capture_output=True, text=True, check=True)
        seconds[name], peak = map(float, done.stdout.split())
        rows.append([name, f"{seconds[name]:.1f} s", f"{peak:.0f} MiB"])
    print_table((f"six layers, width 512, {NODES} nodes, {EDGES} edges", "per question", "peak memory"), rows)
    print(f"ratio {seconds['plain torch'] / seconds['fused']:.1f}")


def measure(name: str) -> tuple[float, float]:
    """Return the better of two times of a forward pass in seconds, and the peak memory in MiB."""
    import resource

    assert sys.platform != "win32"

    generator = torch.Generator().manual_seed(0)
    senders, relations, receivers = (
        torch.randint(0, limit, (EDGES,), generator=generator) for limit in (NODES, RELATIONS, NODES)
    )
    graph = RelationalGraph((senders, relations, receivers), NODES, RELATIONS)
    model = QueryGNN(QueryGNNSettings(width=512, text_width=768)).eval()
    texts, question = torch.randn(RELATIONS, 768, generator=generator), torch.randn(1, 768, generator=generator)
    seeds, owners = torch.zeros(NODES), torch.zeros(NODES, dtype=torch.int64)
    seeds[:3] = 1.0
    plain = name == "plain torch"
    vars(query_gnn)["relational_conv"] = plain_relational_conv if plain else relational_conv
    with torch.inference_mode():
        cached = model.project_relations(texts)
        times = []
        for _ in range(2):
            start = time.perf_counter()
            projected = model.project_relations(texts) if plain else cached  # the reference caches nothing
            model(graph, projected, question, owners, seeds)
            times.append(time.perf_counter() - start)
    return min(times), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
