"""Everything that makes a picture, as one value: exports are made from it and from nothing else."""

from __future__ import annotations

from dataclasses import dataclass, replace

from mha import masks
from mha.arrays import Array
from mha.attention import Trace, attend
from mha.batches import Batch, embed_batch
from mha.config import Model
from mha.masks import Mask, Rule, Shape
from mha.restriction import Restriction, restrict
from mha.tokens import Tokens
from mha.weights import Weights

Texts = tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Scene:
    """Who looks, what is looked at, the model, the rules on top, and what is to be compared with that.

    texts: the tokens of each text, (B,) texts of any lengths; shorter ones are padded with zero vectors.
    looked_at: as many texts to be looked at, for cross-attention; None, each text looks at itself. restriction: one
    more rule, for a second pass: `mask` and `trace` are those without it. Raises ValueError for no tokens at all,
    texts that do not pair up, tokens that are no text, and rules that do not fit.
    """

    texts: Texts
    model: Model
    rules: tuple[Rule, ...] = ()
    looked_at: Texts | None = None
    restriction: Rule | None = None

    def __post_init__(self) -> None:
        for name, texts in (("texts", self.texts), ("looked_at", self.keys)):
            if not any(texts):
                raise ValueError(f"expected {name} to hold at least one token, got none")
            _refuse_what_no_file_can_hold(texts, name)
        if len(self.keys) != len(self.texts):
            raise ValueError(f"expected as many texts to look at as texts, B = {len(self.texts)}, got {len(self.keys)}")
        if self.restriction is not None and not isinstance(self.restriction, Rule):
            raise ValueError(f"expected the restriction to be a Rule or None, got {type(self.restriction).__name__}")
        _ = self.restricted_mask  # refuses rules that do not fit

    @property
    def keys(self) -> Texts:
        """The texts that are looked at."""
        return self.texts if self.looked_at is None else self.looked_at

    @property
    def shape(self) -> Shape:
        """(B, H, Tq, Tk)."""
        longest_query, longest_key = (max(map(len, texts)) for texts in (self.texts, self.keys))
        return len(self.texts), self.model.num_heads, longest_query, longest_key

    @property
    def mask(self) -> Mask:
        """All rules combined, without the restriction."""
        return masks.combine(*self.rules, shape=self.shape)

    @property
    def restricted_mask(self) -> Mask:
        """All rules combined, and the restriction if there is one."""
        return masks.combine(*self.rules, *self._restrictions, shape=self.shape)

    def vectors(self) -> tuple[Array, Array]:
        """Queries (B, Tq, D) and keys (B, Tk, D) as `attend` takes them."""
        queries = _padded_vectors(self.texts, self.model)
        return queries, queries if self.looked_at is None else _padded_vectors(self.looked_at, self.model)

    def weights(self) -> Weights:
        """The model's matrices."""
        return Weights.draw(
            self.model.d_model, self.model.num_heads, self.model.seed, init=self.model.init, bias=self.model.bias
        )

    def trace(self, engine: str = "numpy") -> Trace:
        """The forward pass without the restriction."""
        queries, keys = self.vectors()
        return attend(queries, keys, keys, self.weights(), mask=self.mask, engine=engine)

    def comparison(self, engine: str = "numpy") -> Restriction:
        """Both passes: `trace`, and the same under the restriction. ValueError if there is none."""
        if self.restriction is None:
            raise ValueError("expected a scene with a restriction, got one without")
        queries, keys = self.vectors()
        return restrict(queries, keys, keys, self.weights(), self.restriction, mask=self.mask, engine=engine)

    def restricted(self) -> Scene:
        """The scene of the second pass alone: the restriction is one of its rules."""
        return replace(self, rules=(*self.rules, *self._restrictions), restriction=None)

    @property
    def _restrictions(self) -> tuple[Rule, ...]:
        return () if self.restriction is None else (self.restriction,)


def _refuse_what_no_file_can_hold(texts: Texts, name: str) -> None:
    for place, text in enumerate(texts):
        if isinstance(text, str) or not all(isinstance(token, str) for token in text):
            raise ValueError(f"expected {name} to hold tuples of tokens, got {text!r} at {place}")
        try:
            "".join(text).encode()
        except UnicodeEncodeError:
            raise ValueError(f"expected {name} to be valid Unicode, got {text!r} at {place}") from None


def _padded_vectors(texts: Texts, model: Model) -> Array:
    return embed_batch(Batch(tuple(map(Tokens, texts)), tuple(range(1, len(texts) + 1))), model)
