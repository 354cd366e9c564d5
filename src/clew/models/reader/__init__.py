"""The reader of answers: windows of tokens, the network, and the spans that its scores mean."""
