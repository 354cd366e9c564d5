"""Imported by the server that forks the processes of tests: it is warm then, and so is each of them."""

from tests.faults.warm_process import warm_up

warm_up()
