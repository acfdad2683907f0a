"""`make bench`: medians of what a person waits for, beside an empty Streamlit rerun on the same machine and run."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Iterator
from itertools import count
from urllib.parse import quote, urlencode

from playwright.sync_api import Browser, Page

from bench import translator
from bench.moments import ROUNDS, WARM_UPS, after_click, after_key, note
from bench.server_time import Client
from rig.chromium import chromium
from rig.server import Server, serve

SCENES = {"8 heads x 8 tokens": (8, 8), "8 heads x 32 tokens": (8, 32), "8 heads x 128 tokens": (8, 128)}
SCENES["16 heads x 128 tokens"] = (16, 128)

# The newest word is on the picture's axis, or on the page that is the floor.
NAMED = """document.querySelector('#said')?.textContent.includes(wanted)
  || (drawn() && JSON.stringify(drawn().layout.yaxis).includes(wanted))"""


def texts(tokens: int) -> Iterator[tuple[str, str]]:
    """Ever new texts of so many tokens, and the word that is new in each."""
    for number in count():
        word = f"new{number}"
        yield " ".join([word, *(f"w{i}" for i in range(tokens - 1))]), word


def open_page(browser: Browser, server: Server, heads: int) -> Page:
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.goto(f"{server.url}/?{urlencode({'heads': heads})}")
    page.get_by_label("Your text").first.wait_for()
    note(page)
    return page


def after_enter(page: Page, text: str, word: str) -> float:
    field = page.get_by_role("textbox", name="Your text")
    field.fill(text)
    field.press("Enter")
    return after_key(page, NAMED, word)


def after_last_key(page: Page, text: str, word: str) -> float:
    field = page.get_by_role("textbox", name="Your text")
    field.fill(text[:-1])
    field.press(text[-1])
    return after_key(page, NAMED, word)


# Whether some cell is blocked says which way the rule was switched, as there is no other rule that blocks any.
SWITCHED = """drawn()
  && drawn().data.some((trace) => trace.name.includes('After') && !trace.coloraxis) === wanted"""


def rule_painted(browser: Browser, app: Server) -> None:
    """A rule switched on, and off again: all three maps of every head, 8 heads x 32 tokens."""
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    text = " ".join(f"w{i}" for i in range(32))
    page.goto(f"{app.url}/masks?{urlencode({'heads': 8, 'texts': text, 'left': 3, 'right': 3})}")
    page.locator(".heatmaplayer image").first.wait_for()
    note(page)
    for label in ("Causal", "Window", "Key ranges"):
        times: dict[bool, list[float]] = {True: [], False: []}
        for _ in range(WARM_UPS + ROUNDS):
            for on, measured in times.items():
                measured.append(switched(page, label, on=on))
        switched_on, switched_off = (statistics.median(measured[WARM_UPS:]) for measured in times.values())
        print(f"{label:24}{switched_on:8.0f} on{switched_off:8.0f} off")
    page.close()


BLOCKED = """JSON.stringify(document.querySelector('.js-plotly-plot').data
  .filter((trace) => trace.name.includes('Restricted') && !trace.coloraxis)
  .map((trace) => trace.z.bdata || Array.from(trace.z, (row) => Array.from(row))))"""


# The cells that the restriction blocks have changed.
RESTRICTED = f"drawn() && ({BLOCKED}) !== wanted"


def restriction_painted(browser: Browser, app: Server) -> None:
    """Another restriction chosen: original, restricted and difference of 8 heads x 32 tokens; and the report of it."""
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    text = " ".join(f"w{i}" for i in range(32))
    page.goto(f"{app.url}/restriction?{urlencode({'heads': 8, 'text': text})}")
    page.locator(".heatmaplayer image").first.wait_for()
    note(page)
    times = []
    for n in range(WARM_UPS + ROUNDS):
        before = page.evaluate(BLOCKED)
        page.get_by_role("combobox", name="Each head may look at").click()
        page.get_by_role("option", name=("Odd and even", "First token", "Equal blocks")[n % 3], exact=True).click()
        times.append(after_click(page, RESTRICTED, before))
    print(f"{'Restriction':24}{statistics.median(times[WARM_UPS:]):8.0f}")
    page.get_by_role("button", name="Take away").click()
    page.get_by_role("button", name="HTML", exact=True).wait_for()
    took, size = zip(*(report(page) for _ in range(WARM_UPS + ROUNDS)), strict=True)
    print(f"{'Report, HTML':24}{statistics.median(took[WARM_UPS:]):8.0f}, {size[-1] / 1000:,.0f} kB")
    page.close()


def report(page: Page) -> tuple[float, int]:
    """ms from the click to the saved file, and its bytes."""
    start = time.perf_counter()
    with page.expect_download() as download:
        page.get_by_role("button", name="HTML", exact=True).click()
    size = download.value.path().stat().st_size
    return 1000 * (time.perf_counter() - start), size


def switched(page: Page, label: str, *, on: bool) -> float:
    page.get_by_text(label, exact=True).first.click()
    return after_click(page, SWITCHED, on)


def median_of(
    measure: Callable[[Page, str, str], float], page: Page, tokens: int, new: Iterator[tuple[str, str]]
) -> float:
    times = [measure(page, *next(new)) for _ in range(WARM_UPS + ROUNDS)]
    return statistics.median(times[WARM_UPS:])


def painted(browser: Browser, app: Server, floor: Server) -> None:
    print(f"From a changed text to the painted picture, medians of {ROUNDS}, ms")
    print(f"{'':24}{'after Enter':>12}{'after last key':>16}")
    scenes = [("empty rerun (floor)", floor, 8, 8), *((name, app, *size) for name, size in SCENES.items())]
    for name, server, heads, tokens in scenes:
        page, new = open_page(browser, server, heads), texts(tokens)
        enter, key = (median_of(measure, page, tokens, new) for measure in (after_enter, after_last_key))
        print(f"{name:24}{enter:12.0f}{key:16.0f}")
        page.close()
    print(f"\nFrom a click on a rule to before, after and difference of 8 heads x 32 tokens, medians of {ROUNDS}, ms")
    rule_painted(browser, app)
    restriction_painted(browser, app)
    translator.painted(browser, app, floor)


def server_times(app: Server, floor: Server) -> None:
    print(f"\nServer time of a rerun over the loopback, medians of {ROUNDS}, ms, and bytes sent")
    scenes = [("empty rerun (floor)", floor, 8, 8), *((name, app, *size) for name, size in SCENES.items())]
    for name, server, heads, tokens in scenes:
        new = texts(tokens)
        with Client(server, urlencode({"heads": heads}, quote_via=quote)) as client:
            answers = [client.type_text(next(new)[0]) for _ in range(WARM_UPS + ROUNDS)][WARM_UPS:]
        time, size = (statistics.median(column) for column in zip(*answers, strict=True))
        print(f"{name:24}{time:12.1f}{size:16,.0f}")


def main() -> None:
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr] # each line when it is known
    with serve() as app, serve("bench/floor.py") as floor, chromium() as browser:
        at_start = app.memory()
        painted(browser, app, floor)
        server_times(app, floor)
        translator.twelve_heads()
        print(f"\nMemory of the server, MB: {at_start:.0f} before the first page, {app.memory():.0f} after all this")


if __name__ == "__main__":
    main()
