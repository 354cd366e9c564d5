"""Neural networks over graphs: tensors in, tensors out."""
