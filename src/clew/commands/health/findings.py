"""Findings of a check."""

from dataclasses import asdict, dataclass

OK, WARNING, FAULT = "ok", "warn", "fault"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of `clew doctor`."""

    name: str  # of what was checked
    state: str  # ok, warn or fault
    detail: str  # what was seen
    step: str = ""  # what to do, "" where nothing is to be done

    def to_json(self) -> dict[str, str]:
        """Return the finding as JSON."""
        return asdict(self)
