"""The metadata of two snapshots, compared."""

from clew_lab.graph.snapshot_diff import compared_metadata


def test_copies_of_a_folder_differ_in_nothing_that_counts() -> None:
    one, other = '{"modified":"2020","path":"a.md","year":1}', '{"modified":"2021","path":"a.md","year":1}'
    assert compared_metadata(one) == compared_metadata(other)
    assert compared_metadata('{"modified":"2020"}') != compared_metadata('{"modified":"2021"}')  # a record's own
