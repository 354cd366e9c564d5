"""Vectors that a network trained on another encoder's may read."""

from clew.models.encoders.registry import DEFAULT_ENCODER, open_encoder, reads_vectors_of


def test_only_the_two_forms_of_one_model_read_each_other_s_vectors() -> None:
    int8, fp32, other = (open_encoder(name).fingerprint for name in (DEFAULT_ENCODER, "all-MiniLM-L6-v2", "hashing"))
    assert reads_vectors_of(int8, fp32)
    assert reads_vectors_of(fp32, int8)
    for fingerprint in (int8, fp32, other):
        assert reads_vectors_of(fingerprint, fingerprint)
    for fingerprint in (int8, fp32, ""):
        assert not reads_vectors_of(fingerprint, other)
        assert not reads_vectors_of(other, fingerprint)
