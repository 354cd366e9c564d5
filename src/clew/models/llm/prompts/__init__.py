"""What language models are asked: a file a prompt, with its words, the shape of its reply and what is made of it."""
