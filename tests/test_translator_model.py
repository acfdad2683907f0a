"""The NumPy translator: against PyTorch's own layers with the same weights, and its restrictions cell by cell."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

from mha import masks, torch_engine
from mha.translator.evaluate import sample
from mha.translator.model import Passes, Translator
from mha.translator.numbers import english_words, german_words
from mha.translator.restrictions import (
    FREE,
    FirstWords,
    Halves,
    HeadPositions,
    HeadsOff,
    Places,
    Restriction,
    Rules,
    Window,
)
from mha.translator.split import held_out_sample
from mha.translator.weights import ATTENTIONS, END, SHIPPED, START, drawn_like, load, shipped

torch = pytest.importorskip("torch")
torch_engine.load()  # one thread, as the app has it: tests run on all cores already, and more threads only wait

BETWEEN_ENGINES = 1e-10
MIXED = (
    "two hundred thirty four",
    "zero",
    "one hundred twenty one thousand one hundred twenty one",
    "forty",
    "ninety one",
)
TEXTS = tuple(tuple(text.split()) for text in MIXED)

RESTRICTIONS: dict[str, Restriction] = {
    "heads off": HeadsOff((0, 2)),
    "halves": Halves(),
    "positions": HeadPositions(((0, 1), (2,), (), (0, 3, 4, 5))),
    "window": Window(1, 1),
    "window, one side": Window(None, 0),
    "first words": FirstWords(),
    "first words and one": FirstWords(1),
    "any rule": lambda places: masks.custom(np.arange(places.Tk) % 2 == 0, "even keys"),
}


@lru_cache
def translator(name: str = "shared") -> Translator:
    return Translator(load(shipped(name)))


def follow(rules: Rules = FREE, name: str = "shared") -> Passes:
    translations = translator(name).translate(TEXTS, rules)
    return translator(name).follow(TEXTS, [one.produced for one in translations], rules)


# --- against PyTorch ---------------------------------------------------------------------------------------------


def torch_probabilities(model: Any, numbers: np.ndarray) -> np.ndarray:
    from mha.translator.train import encoded, next_word_scores

    with torch.no_grad():
        sources, targets = encoded(numbers)
        return np.asarray(next_word_scores(model, sources, targets[:, :-1]).softmax(dim=-1).numpy())


def torch_greedy(model: Any, numbers: np.ndarray, words: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Greedy decoding as plainly as it can be: the whole decoder again at each step, no caches, 12 steps for all."""
    from mha.translator.train import encoded, next_word_scores

    with torch.no_grad():
        sources, targets = encoded(numbers)
        fed = targets[:, :1]
        for _ in range(12):
            best = next_word_scores(model, sources, fed)[:, -1].argmax(dim=-1)
            fed = torch.cat([fed, best[:, None]], dim=1)
    rows = [[words[i] for i in row] for row in fed[:, 1:].tolist()]
    return [tuple(row[: row.index(END)] if END in row else row) for row in rows]


@pytest.mark.parametrize(("name", "how_many"), [("shared", 1000), ("one_head", 250)])
def test_a_thousand_numbers_come_out_as_from_pytorchs_own_layers(name: str, how_many: int) -> None:
    from mha.translator.train import model_of

    ours, numbers = translator(name), held_out_sample(how_many, 7)
    model = model_of(ours.weights)
    sources = [english_words(number) for number in numbers.tolist()]
    produced = [(*german_words(number), END) for number in numbers.tolist()]
    passes = ours.follow(sources, produced)
    theirs = torch_probabilities(model, numbers)
    largest = max(1.0, *(np.abs(getattr(passes, part).trace.scores).max() for part in ATTENTIONS))
    for b, words in enumerate(produced):
        difference = np.abs(passes.probabilities[b, : len(words)] - theirs[b, : len(words)])
        assert difference.max() <= BETWEEN_ENGINES * largest
    assert [one.words for one in ours.translate(sources)] == torch_greedy(model, numbers, ours.weights.target_words)


def test_untrained_weights_come_out_as_from_pytorch_too() -> None:
    # Their words are wrong, repeat and do not end: the decoding is the same all the same.
    from mha.translator.train import model_of

    ours, numbers = Translator(drawn_like(translator().weights, 5)), held_out_sample(60, 8)
    translations = ours.translate(map(english_words, numbers.tolist()))
    assert [one.words for one in translations] == torch_greedy(
        model_of(ours.weights), numbers, ours.weights.target_words
    )
    assert any(not one.ended for one in translations)
    assert all(len(one.words) == 12 for one in translations if not one.ended)


@pytest.mark.parametrize(("attention", "head"), [("encoder", 3), ("decoder", 1), ("cross", 0)])
def test_a_head_off_is_the_model_whose_rows_of_W_o_are_zero(attention: str, head: int) -> None:
    from mha.translator.train import model_of

    ours, numbers = translator(), held_out_sample(100, 9)
    model = model_of(ours.weights)
    layer = model["encoder"] if attention == "encoder" else model["decoder"]
    module, K = layer.multihead_attn if attention == "cross" else layer.self_attn, ours.weights.d_model // 4
    with torch.no_grad():
        module.out_proj.weight[:, head * K : (head + 1) * K] = 0
    rules = Rules(**{attention: (HeadsOff((head,)),)})
    sources = [english_words(number) for number in numbers.tolist()]
    assert [one.words for one in ours.translate(sources, rules)] == torch_greedy(
        model, numbers, ours.weights.target_words
    )


def test_the_maps_are_those_of_pytorchs_attention_modules() -> None:
    # The inputs of each module are caught as PyTorch's own layers pass them, and its weights asked for.
    from mha.translator.train import encoded, model_of, next_word_scores

    ours, numbers = translator(), np.array([234, 90_021, 7])
    model, caught = model_of(ours.weights), {}
    modules = {
        "encoder": model["encoder"].self_attn,
        "decoder": model["decoder"].self_attn,
        "cross": model["decoder"].multihead_attn,
    }
    for name, module in modules.items():
        module.register_forward_pre_hook(
            lambda module, arguments, named, name=name: caught.update({name: (arguments, named)}), with_kwargs=True
        )
    sources, targets = encoded(numbers)
    next_word_scores(model, sources, targets[:, :-1])
    passes = ours.follow(
        map(english_words, numbers.tolist()), [(*german_words(number), END) for number in numbers.tolist()]
    )
    for name, module in modules.items():
        arguments, named = caught[name]
        with torch.no_grad():
            _, theirs = module(*arguments, **{**named, "need_weights": True, "average_attn_weights": False})
        weights = getattr(passes, name).trace.weights
        for b in range(len(numbers)):
            rows = len(passes.sources[b] if name == "encoder" else passes.produced[b])
            columns = weights.shape[-1]
            assert np.abs(weights[b, :, :rows] - theirs[b, :, :rows, :columns].numpy()).max() <= 1e-10
            assert theirs[b, :, :rows, columns:].abs().sum() == 0  # PyTorch was fed longer padding


# --- decoding ----------------------------------------------------------------------------------------------------


def test_step_by_step_and_in_one_pass_choose_the_same_words_under_any_restriction() -> None:
    # each step computes one row with as many keys as there are words then; `follow` all rows at once
    ours = translator()
    for attention in ATTENTIONS:
        for name, restriction in RESTRICTIONS.items():
            rules = Rules(**{attention: (restriction,)})
            passes = follow(rules)
            for b, words in enumerate(passes.produced):
                best = passes.probabilities[b, : len(words)].argmax(axis=-1)
                assert tuple(ours.weights.target_words[i] for i in best) == words, (attention, name)


@pytest.mark.parametrize("name", SHIPPED)
def test_one_pass_knows_what_step_by_step_decoding_gives(name: str) -> None:
    ours, numbers = translator(name), held_out_sample(48, 11).tolist()
    sources = [english_words(number) for number in numbers]
    right = [(*german_words(number), END) for number in numbers]
    some_wrong = 0
    for attention in ATTENTIONS:
        for restriction in RESTRICTIONS.values():
            rules = Rules(**{attention: (restriction,)})
            translations = ours.translate(sources, rules)
            known = ours.would_produce(sources, right, rules)
            assert known.tolist() == [one.produced == words for one, words in zip(translations, right, strict=True)]
            # and it is no less true of what did come out
            ended = [b for b, one in enumerate(translations) if one.ended]
            chosen = [(sources[b], translations[b].produced) for b in ended]
            assert ours.would_produce([s for s, _ in chosen], [p for _, p in chosen], rules).all()
            some_wrong += not known.all()
    assert some_wrong


def test_a_text_alone_is_a_text_among_others() -> None:
    together = follow(Rules(encoder=(Halves(),), cross=(FirstWords(1),), decoder=(Window(2, 0),)))
    for b, words in enumerate(TEXTS):
        rules = Rules(encoder=(Halves(),), cross=(FirstWords(1),), decoder=(Window(2, 0),))
        [alone] = translator().translate([words], rules)
        assert alone.produced == together.produced[b]
        passes = translator().follow([words], [alone.produced], rules)
        S, T = len(words) + 1, len(alone.produced)
        for attention, size in (("encoder", (S, S)), ("decoder", (T, T)), ("cross", (T, S))):
            one, among = (getattr(some, attention).trace.weights for some in (passes, together))
            assert one.shape[2:] == size
            assert np.abs(one[0] - among[b, :, : size[0], : size[1]]).max() <= 1e-12
        assert np.abs(passes.probabilities[0] - together.probabilities[b, :T]).max() <= 1e-12


def test_the_labels_of_a_pass() -> None:
    passes = follow()
    assert passes.sources[0] == ("two", "hundred", "thirty", "four", END)
    assert passes.produced[0] == ("zwei", "hundert", "vier", "und", "dreißig", END)
    assert passes.fed[0] == (START, "zwei", "hundert", "vier", "und", "dreißig")
    assert passes.cross.trace.weights.shape == (5, 4, 12, 10)
    assert passes.decoder.trace.weights.shape == (5, 4, 12, 12)
    assert passes.encoder.trace.weights.shape == (5, 4, 10, 10)
    assert np.abs(passes.probabilities.sum(axis=-1) - 1).max() <= 1e-12


def test_no_row_looks_at_padding_or_at_words_that_are_still_to_come() -> None:
    passes = follow()
    for b, words in enumerate(TEXTS):
        S = len(words) + 1
        assert not passes.cross.trace.weights[b, :, :, S:].any()
        assert not passes.encoder.trace.weights[b, :, :, S:].any()
    assert not np.triu(passes.decoder.trace.weights, 1).any()


def test_a_head_that_is_off_adds_nothing_and_the_others_stay_as_they_were_in_its_first_step() -> None:
    off, free = follow(Rules(encoder=(HeadsOff((1,)),))), follow()
    assert off.encoder.trace.empty_rows[:, 1].all()
    assert not off.encoder.trace.contributions[:, 1].any()
    others = [0, 2, 3]
    assert (off.encoder.trace.weights[:, others] == free.encoder.trace.weights[:, others]).all()
    assert (off.cross.trace.weights != free.cross.trace.weights).any()


# --- restrictions, cell by cell ----------------------------------------------------------------------------------

LENS = [5, 2, 7]  # keys of three texts, of 7 places
ROWS = 3


def allowed(restriction: Restriction) -> np.ndarray:
    places = Places(4, np.repeat(np.array(LENS)[:, None], ROWS, axis=1), max(LENS))
    return masks.combine(restriction(places), shape=(len(LENS), 4, ROWS, max(LENS))).allowed


@pytest.mark.parametrize(
    ("restriction", "sentence"),
    [
        (HeadsOff((1, 3)), lambda n, h, i, j: h not in (1, 3)),
        (HeadPositions(((0,), (1, 2), (), (9,))), lambda n, h, i, j: j in ((0,), (1, 2), (), (9,))[h]),
        (Halves(), lambda n, h, i, j: h * n // 4 <= j < (h + 1) * n // 4),
        (Window(1, 0), lambda n, h, i, j: i - 1 <= j <= i),
        (Window(None, 2), lambda n, h, i, j: j <= i + 2),
        (FirstWords(), lambda n, h, i, j: j <= i or j == n - 1),
        (FirstWords(2), lambda n, h, i, j: j <= i + 2 or j == n - 1),
    ],
)
def test_a_restriction_is_its_sentence(restriction: Restriction, sentence: Any) -> None:
    cells = allowed(restriction)
    for b, h, i, j in np.ndindex(cells.shape):
        assert cells[b, h, i, j] == sentence(LENS[b], h, i, j), (b, h, i, j)


def test_the_decoders_halves_are_those_of_the_words_so_far() -> None:
    longest = (*german_words(121_121), END)  # 12 rows, whatever the weights would have produced
    passes = translator().follow([english_words(121_121)], [longest], Rules(decoder=(Halves(),)))
    for i in range(12):
        for h in range(4):
            cells = [h * (i + 1) // 4 <= j < (h + 1) * (i + 1) // 4 for j in range(12)]
            assert passes.decoder.trace.mask[0, h, i].tolist() == cells


def test_a_pass_knows_which_rule_blocked_a_cell() -> None:
    passes = follow(Rules(cross=(FirstWords(), HeadsOff((2,)))))
    # the first German word may look at "two" and at the end mark
    assert passes.cross.mask.blocked_by(0, 0, 0, 0) == ()
    assert passes.cross.mask.blocked_by(0, 0, 0, 1) == ("first words",)
    assert passes.cross.mask.blocked_by(0, 0, 0, 4) == ()
    assert passes.cross.mask.blocked_by(0, 2, 0, 9) == ("valid_lens", "first words", "head off")
    assert passes.decoder.mask.blocked_by(0, 0, 0, 1) == ("causal",)


def test_all_heads_of_cross_attention_off_leave_no_trace_of_the_source() -> None:
    one, other = translator().translate(TEXTS[:2], Rules(cross=(HeadsOff((0, 1, 2, 3)),)))
    assert one == other


# --- what does not fit -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sources", "message"),
    [
        ([], "sources of at least one text, got none"),
        ([()], "sources of 1 to 9 words, got 0 in text 0"),
        ([("one",), ("two",) * 10], "sources of 1 to 9 words, got 10 in text 1"),
        ([("one", "cat")], "words that the model knows, got 'cat' in text 0"),
    ],
)
def test_what_is_no_text_of_the_model_is_refused(sources: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        translator().translate(sources)
    with pytest.raises(ValueError, match=message):
        translator().follow(sources, [(END,)] * len(sources))


@pytest.mark.parametrize(
    ("produced", "message"),
    [
        ([], "as many texts produced as sources, 1, got 0"),
        ([()], "produced of 1 to 12 words, got 0 in text 0"),
        ([("ein",) * 13], "produced of 1 to 12 words, got 13 in text 0"),
        ([("one", END)], "produced of words that the model knows, got 'one' in text 0"),
        ([("ein", "one")], "got 'one' in text 0"),
    ],
)
def test_what_cannot_have_been_produced_is_refused(produced: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        translator().follow([("one",)], produced)


def test_only_a_whole_translation_can_be_asked_for() -> None:
    with pytest.raises(ValueError, match=r"expected produced to end with \[end\], got \('ein',\) in text 1"):
        translator().would_produce([("one",), ("one",)], [("eins", END), ("ein",)])
    with pytest.raises(ValueError, match="as many texts produced as sources, 1, got 0"):
        translator().would_produce([("one",)], [])
    with pytest.raises(ValueError, match="got 'one' in text 0"):
        translator().would_produce([("one",)], [("one", END)])


@pytest.mark.parametrize(
    ("restriction", "message"),
    [
        (HeadsOff((4,)), "a head to be a whole number from 0 to 3, got 4"),
        (HeadPositions(((0,),)), "positions for 4 heads, got 1"),
        (FirstWords(-1), "ahead to be a whole number of at least 0, got -1"),
        (Window(-1, 0), "left to be a whole number of at least 0"),
        (lambda places: np.ones((1, 1, 1, 1), dtype=bool), "expected rules, got ndarray"),
        (lambda places: masks.causal(99, 99), "rule 'causal' to broadcast"),
    ],
)
def test_restrictions_that_do_not_fit_are_refused(restriction: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        translator().translate(TEXTS, Rules(cross=(restriction,)))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("encoder.feed_forward.W_2", "expected encoder.feed_forward not to overflow, got "),
        ("decoder.feed_forward.W_2", "expected decoder.feed_forward not to overflow, got "),
        ("output.W", "expected scores of the next word not to overflow, got "),
    ],
)
def test_weights_that_overflow_are_refused_and_give_no_words(name: str, message: str) -> None:
    given = translator().weights
    huge = np.full_like(given.arrays[name], np.finfo(np.float64).max)
    ours = Translator(replace(given, arrays={**given.arrays, name: huge}))
    with pytest.raises(ValueError, match=message):
        ours.translate(TEXTS)
    with pytest.raises(ValueError, match=message):
        ours.would_produce(TEXTS, [("ein", END)] * len(TEXTS))


def test_the_sample_is_translated_and_a_batch_of_one_too() -> None:
    numbers = sample().tolist()
    right = [
        one.words == german_words(number)
        for number, one in zip(numbers, translator().translate(map(english_words, numbers)), strict=True)
    ]
    assert all(right)
    assert translator().translate([english_words(21)])[0].words == ("ein", "und", "zwanzig")
