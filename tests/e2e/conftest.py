"""A real server, a real Chromium: every test here carries the mark `browser`, and fails on console errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect

from rig.chromium import chromium
from rig.server import serve

PATIENCE = (
    40_000  # ms; a page takes about two seconds on a quiet machine, and a fault is found as well by waiting longer
)
VIEWPORT: Any = {"width": 1280, "height": 800}
expect.set_options(timeout=PATIENCE)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the app; its log must stay free of tracebacks."""
    log = tmp_path_factory.mktemp("server") / "log"
    with serve(log=log) as running:
        yield running.url
    said = log.read_text()
    assert "Traceback" not in said, said


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with chromium() as running:
        yield running


def is_fault(said: ConsoleMessage) -> bool:
    """An error in the console, unless it is Streamlit looking for its server below a page's own address first."""
    asked = urlsplit(said.location["url"]).path
    return said.type == "error" and not (
        asked.count("/") > 2 and asked.endswith(("/_stcore/health", "/_stcore/host-config"))
    )


@contextmanager
def without_faults(page: Page) -> Iterator[None]:
    """No error in the console until the end."""
    errors: list[str] = []
    page.on("console", lambda said: errors.append(said.text) if is_fault(said) else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    yield
    assert errors == []


@pytest.fixture
def fresh_page(browser: Browser) -> Callable[..., AbstractContextManager[Page]]:
    """Pages without a past, as on somebody else's machine; each must end without an error in its console."""

    @contextmanager
    def fresh(**options: Any) -> Iterator[Page]:
        context = browser.new_context(**{"viewport": VIEWPORT, **options})
        context.set_default_timeout(PATIENCE)
        page = context.new_page()
        with without_faults(page):
            yield page
        context.close()

    return fresh


@pytest.fixture(scope="session")
def used_context(browser: Browser) -> Iterator[BrowserContext]:
    """One browser that keeps the app's scripts from test to test: reading 8 MB of them anew takes most of a test."""
    context = browser.new_context(viewport=VIEWPORT)
    context.set_default_timeout(PATIENCE)
    yield context
    context.close()


@pytest.fixture
def page(used_context: BrowserContext) -> Iterator[Page]:
    """A page of its own, with a session of its own; it must end without an error in its console."""
    opened = used_context.new_page()
    opened.set_viewport_size(VIEWPORT)
    with without_faults(opened):
        yield opened
    used_context.clear_cookies()
    opened.close()


@pytest.fixture
def address(server: str) -> Callable[..., str]:
    """The address of the first page with these settings."""
    return lambda **settings: f"{server}/?{urlencode(settings, quote_via=quote)}"


@pytest.fixture
def open_page(page: Page, server: str) -> Callable[..., Page]:
    """A page by its own address with these settings."""

    def opened(name: str, **settings: object) -> Page:
        page.goto(f"{server}/{name}?{urlencode(settings, quote_via=quote)}")
        return page

    return opened
