"""The server's sockets: small messages go out at once."""

from __future__ import annotations

import gc
import socket
from contextlib import suppress


def send_at_once() -> None:
    """Switch Nagle's algorithm off on every TCP socket of this process.

    A rerun is a small message and then a larger one. With Nagle's algorithm the second waits until the browser has
    acknowledged the first, which it delays by 40 ms. asyncio would switch it off, but only on sockets that were made
    with the protocol named, and Streamlit 1.67 makes its listening socket without. New connections inherit the option
    from that socket, so once is enough.
    """
    for thing in gc.get_objects():
        # type(), since isinstance() would wake the lazy proxies that some libraries keep
        if type(thing) is socket.socket and thing.family in (socket.AF_INET, socket.AF_INET6):
            with suppress(OSError):  # closed in the meantime, or no TCP
                thing.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
