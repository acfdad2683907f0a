"""How long the server takes for one rerun, asked over Streamlit's own protocol by one client."""

from __future__ import annotations

import time
from types import TracebackType

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import connect
from websockets.typing import Origin, Subprotocol

from rig.server import Server


class Client:
    """One browser's worth of session, without the browser."""

    def __init__(self, server: Server, query: str) -> None:
        self._socket = connect(
            f"ws://127.0.0.1:{server.port}/_stcore/stream",
            subprotocols=[Subprotocol("streamlit")],
            max_size=None,
            origin=Origin(server.url),
        )
        self._query = query
        self._text_id = ""
        self._fragment_id = ""
        self._rerun(None)

    def type_text(self, text: str) -> tuple[float, int]:
        """Milliseconds from asking for a rerun with `text` to the script's end, and the bytes that came back."""
        start = time.perf_counter()
        size = self._rerun(text)
        return (time.perf_counter() - start) * 1000, size

    def _rerun(self, text: str | None) -> int:
        ask = BackMsg()
        ask.rerun_script.query_string = self._query
        if text is not None:
            state = ask.rerun_script.widget_states.widgets.add()
            state.id, state.string_value = self._text_id, text
            ask.rerun_script.fragment_id = self._fragment_id  # what a browser asks for when text is typed
        self._socket.send(ask.SerializeToString())
        return self._read_until_finished()

    def _read_until_finished(self) -> int:
        size = 0
        while True:
            raw = self._socket.recv(timeout=30)
            size += len(raw)
            said = ForwardMsg.FromString(raw)
            element = said.delta.new_element
            if element.WhichOneof("type") == "text_input":
                self._text_id, self._fragment_id = element.text_input.id, said.delta.fragment_id
            if said.WhichOneof("type") == "script_finished":
                return size

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()
