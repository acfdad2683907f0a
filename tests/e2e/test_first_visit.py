"""The first visit of a fresh server, by the address of a page: as a shared link opens an app that has just woken up."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from rig.server import serve


@pytest.mark.parametrize("path", ["masks?causal=true&texts=a%20b%20c&seed=none", "translate?number=45"])
def test_the_menu_is_there_and_the_link_is_kept(page, path):
    with serve() as server:
        page.goto(f"{server.url}/{path}")
        expect(page.get_by_test_id("stTopNavLink")).to_have_count(6)
        if path.startswith("masks"):
            expect(page.get_by_role("textbox", name="Your texts")).to_have_value("a b c")
            expect(page.get_by_text("Of this link cannot be used: seed = none")).to_be_visible()
        else:
            expect(page.get_by_text("fünf und vierzig").first).to_be_visible()
        page.goto("about:blank")
