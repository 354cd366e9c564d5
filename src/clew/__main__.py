"""`python -m clew` is `clew`."""

from clew.commands.app import main

main()
