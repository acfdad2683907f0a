"""`python -m bench.translator`: the Translate page, and what judging its heads takes beside PyTorch's own layers."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import cycle
from typing import Any

from playwright.sync_api import Browser, Page

from bench.moments import ROUNDS, WARM_UPS, after_click, after_key, after_opening, note
from mha.arrays import Integers
from mha.translator.evaluate import all_heads, heads_off, sample
from mha.translator.model import Translator
from mha.translator.numbers import GERMAN_UNITS, english_words
from mha.translator.weights import SHIPPED, TrainedWeights, load, shipped
from rig.chromium import chromium
from rig.server import Server, serve

# 222,222 to 999,999: ten words each, and the German unit of one is in none of the others.
NUMBERS = [(111_111 * digit, GERMAN_UNITS[digit - 1]) for digit in range(2, 10)]
NAMED = "drawn() && JSON.stringify(drawn().layout.yaxis).includes(wanted)"
MARKED = "drawn() && JSON.stringify(drawn().layout.shapes) !== wanted"
SHAPES = "JSON.stringify(document.querySelector('.js-plotly-plot').layout.shapes)"
# Blocked cells are told apart by who blocked them.
OFF = "drawn() && drawn().data.some((trace) => JSON.stringify(trace).includes('head off')) === wanted"
WORTH = "document.querySelector('.js-plotly-plot .barlayer path') && !document.querySelector('[role=progressbar]')"


def painted(browser: Browser, app: Server, floor: Server) -> None:
    """The page opened, a number typed, a step on, a head switched off: until all maps are painted."""
    print(f"\nTranslate, numbers of ten words: until all maps are painted, medians of {ROUNDS}, ms")
    row("empty page opened (floor)", [opening(browser, floor.url) for _ in range(WARM_UPS)])
    row("page opened", [opening(browser, f"{app.url}/translate") for _ in range(WARM_UPS)])
    with opened(browser, app) as page:
        numbers = cycle(NUMBERS)
        row("number typed, Enter", [typed(page, *next(numbers)) for _ in range(WARM_UPS + ROUNDS)][WARM_UPS:])
        row("a step on or back", [stepped(page, back=n % 2 == 1) for n in range(WARM_UPS + ROUNDS)][WARM_UPS:])
        page.get_by_role("button", name="All heads on").click()
        for said in ("a head off, first time", "a head off, known"):
            heads = [switched(page, head) for head in (1, 2, 3, 4)]
            row(said, [off for off, _ in heads])
        row("a head on again", [on for _, on in heads])
    for name in ("work shared", "one head"):
        with opened(browser, app, f"?weights={name}") as page:
            times = []
            for _ in range(2):
                page.get_by_role("tab", name="What is a head worth?").click()
                times.append(after_click(page, WORTH, None))
                page.get_by_role("tab", name="All heads").click()
                page.locator(".barlayer path").first.wait_for(state="detached")
            print(f"{f'12 heads, {name}':28}{times[0]:8.0f} first time{times[1]:8.0f} known")


def opening(browser: Browser, url: str) -> float:
    """In a browser that knows nothing of the app yet."""
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.goto(url, wait_until="commit")
    took = after_opening(page, "document.querySelector('#said') || drawn()", None)
    page.close()
    return took


@contextmanager
def opened(browser: Browser, app: Server, query: str = "") -> Iterator[Page]:
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.goto(f"{app.url}/translate{query}")
    page.locator(".heatmaplayer image").first.wait_for()
    note(page)
    yield page
    page.close()


def typed(page: Page, number: int, word: str) -> float:
    field = page.get_by_role("textbox", name="A number")
    field.fill(" ".join(english_words(number)))
    field.press("Enter")
    return after_key(page, NAMED, word)


def stepped(page: Page, *, back: bool) -> float:
    before = page.evaluate(SHAPES)
    page.get_by_role("slider").press("ArrowLeft" if back else "ArrowRight")
    return after_key(page, MARKED, before)


def switched(page: Page, head: int) -> tuple[float, float]:
    """A head of cross-attention off, and on again."""
    pill = page.get_by_role("button", name=f"Cross head {head}", exact=True)
    times = []
    for off in (True, False):
        pill.click()
        times.append(after_click(page, OFF, off))
    return times[0], times[1]


def row(said: str, times: list[float]) -> None:
    print(f"{said:28}{statistics.median(times):8.0f}{max(times):8.0f} slowest")


def twelve_heads() -> None:
    """All heads off, one at a time, over 500 numbers: ours, and PyTorch's own layers on one thread."""
    print(f"\n12 heads off, one at a time, over {len(sample())} numbers, medians of 5, s of one processor")
    for name in SHIPPED:
        weights = load(shipped(name))
        ours = took(partial(in_ours, Translator(weights), sample()))
        theirs = took(in_pytorch(weights, sample()))
        print(f"{name:28}{ours:8.2f}{theirs:8.2f} PyTorch")


def took(measured: Callable[[], Any]) -> float:
    times = []
    for _ in range(1 + 5):
        start = time.process_time()
        measured()
        times.append(time.process_time() - start)
    return statistics.median(times[1:])


def in_ours(translator: Translator, numbers: Integers) -> list[int]:
    """How many numbers are right without each head."""
    return [int(result.right.sum()) for _, result in heads_off(translator, numbers)]


def in_pytorch(weights: TrainedWeights, numbers: Integers) -> Callable[[], list[int]]:
    """The same with PyTorch's layers, all numbers at once: a head is off whose rows of W_o are 0."""
    import torch  # noqa: PLC0415 - a second's import, and optional

    from mha import torch_engine  # noqa: PLC0415
    from mha.translator.train import encoded, model_of, next_word_scores  # noqa: PLC0415

    torch_engine.load()
    K = weights.d_model // weights.num_heads
    models = []
    for head in all_heads(weights.num_heads):
        W_o = weights.arrays[f"{head.attention}.attention.W_o"].copy()
        W_o[head.head * K : (head.head + 1) * K] = 0
        models.append(model_of(replace(weights, arrays={**weights.arrays, f"{head.attention}.attention.W_o": W_o})))
    sources, targets = encoded(numbers)
    wanted = targets[:, 1:]

    def right() -> list[int]:
        with torch.inference_mode():
            chosen = (next_word_scores(model, sources, targets[:, :-1]).argmax(dim=-1) for model in models)
            return [int(((words == wanted) | (wanted == 0)).all(dim=-1).sum()) for words in chosen]

    return right


def main() -> None:
    """These scenes alone."""
    with serve() as app, serve("bench/floor.py") as floor, chromium() as browser:
        painted(browser, app, floor)
    twelve_heads()


if __name__ == "__main__":
    main()
