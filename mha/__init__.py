"""Multi-head attention with nothing hidden: seeded, exact, and every step of the way in one Trace."""

from mha import masks, measures
from mha.attention import Trace, attend, scaled_dot_product_attention
from mha.embedding import embed
from mha.restriction import Restriction, restrict
from mha.tokens import Tokens, tokenize
from mha.weights import Weights

__all__ = [
    "Restriction",
    "Tokens",
    "Trace",
    "Weights",
    "attend",
    "embed",
    "masks",
    "measures",
    "restrict",
    "scaled_dot_product_attention",
    "tokenize",
]
