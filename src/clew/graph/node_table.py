"""Hash tables from nodes to positions, for compiled functions that touch few nodes of a large graph.

A slot holds node + 1 in its upper half and the position of the node in the lower; 0 is a free slot. A table has at
least twice as many slots as nodes.
"""

import numpy as np

from clew.arrays import LongArray
from clew.arrays.kernels import njit


@njit
def find_slot(slots: LongArray, node: int) -> np.int64:
    """Return the slot of a node in a table (a power of two,), or the free slot where it would be."""
    mask = len(slots) - 1
    slot = ((np.int64(node) * 2654435761) >> 12) & mask
    while slots[slot] != 0 and (slots[slot] >> 32) - 1 != node:
        slot = (slot + 1) & mask
    return slot


@njit
def node_position(slots: LongArray, node: int) -> int:
    """Return the position of a node in a table (a power of two,), -1 where it was not touched."""
    entry = slots[find_slot(slots, node)]
    return (entry & 0xFFFFFFFF) if entry else -1


@njit
def table_size(count: int) -> int:
    """Return a power of two that is at least `count`."""
    size = 1024
    while size < count:
        size *= 2
    return size
