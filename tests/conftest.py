"""What all tests share: how hypothesis searches."""

from __future__ import annotations

import os

from hypothesis import settings

# A first example may import much, so no deadline. CI tries the same examples every time; at home each run tries others.
settings.register_profile("home", deadline=None, max_examples=60)
settings.register_profile("ci", deadline=None, max_examples=60, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "home")
