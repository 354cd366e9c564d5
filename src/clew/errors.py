"""The errors Clew raises; the command line maps each to one line on stderr and an exit code.

    ClewError               exit 1
    ├── InputError          exit 2   the caller gave something that cannot be used
    │   ├── MissingItemError         no item has such a number: an IndexError too
    │   └── MissingKeyError          no item has such an id: a KeyError too
    ├── MissingPackageError exit 2   a package that only an optional extra installs cannot be imported
    ├── IndexFormatError    exit 2   the folder is not an index, or not one this version can read
    ├── IndexLockedError    exit 2   another process is writing to the index
    ├── ModelReplyError     exit 1   a language model's reply does not fit its schema
    ├── ProviderError       exit 1   a disk, a network or a model's weights failed
    └── BudgetError         exit 1   a limit on tokens or money was reached

Code 2: the command, its input or the installation has to be changed. Code 1: something outside failed, and the same
command may succeed later. Every message names the value seen, the value wanted and the next step.
"""


class ClewError(Exception):
    """Root of all errors raised on purpose."""

    exit_code = 1


class InputError(ClewError):
    """The caller gave something that cannot be used: a file, an option, a question, a filter."""

    exit_code = 2


class MissingItemError(InputError, IndexError):
    """A collection has no item of a number; an IndexError too, as sequences raise it."""


class MissingKeyError(InputError, KeyError):
    """A collection has no item of an id; a KeyError too, as mappings raise it."""

    def __str__(self) -> str:
        """Return the message as it is, where a KeyError would quote it."""
        return str(self.args[0])


class MissingPackageError(ClewError):
    """A package that only an optional extra installs cannot be imported."""

    exit_code = 2


class IndexFormatError(ClewError):
    """A path holds no index, a damaged one, or one written in another format."""

    exit_code = 2


class IndexLockedError(ClewError):
    """Another process is writing to this index."""

    exit_code = 2


class ModelReplyError(ClewError):
    """A language model's reply does not fit the schema it was asked for."""


class ProviderError(ClewError):
    """Something outside Clew failed: a disk, a network, a model's weights."""


class BudgetError(ClewError):
    """A limit on tokens or money was reached; what was done so far is kept."""
