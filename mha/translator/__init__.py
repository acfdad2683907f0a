"""A tiny trained translator on the same `mha.attend`: English number words to German ones."""
