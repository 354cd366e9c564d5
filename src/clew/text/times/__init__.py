"""Times: spans of days, and reading them from values, names of files and texts in several languages."""

from clew.text.times.finding import TextTime, find_times
from clew.text.times.spans import TimeSpan
from clew.text.times.values import find_file_time, read_time

__all__ = ["TextTime", "TimeSpan", "find_file_time", "find_times", "read_time"]
