"""Memory that is free inside this process, given back to the system."""

import ctypes
import sys


def return_free_memory() -> None:
    """Give the C library's free memory back to the system, where it is glibc's; elsewhere it keeps some.

    Arrays of less than 32 MB are not given back one by one, and greater ones are not put in their place.
    """
    if sys.platform == "linux" and hasattr(library := ctypes.CDLL(None), "malloc_trim"):
        library.malloc_trim(0)
