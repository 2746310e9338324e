"""The endpoint as a server on loopback, in this process."""

from __future__ import annotations

import logging
from collections.abc import Callable

import uvicorn
from starlette.applications import Starlette

from decoding_core.errors import InvalidSettingsError

LOOPBACK = "127.0.0.1"


class EndpointServer(uvicorn.Server):
    """uvicorn on loopback; it says where it listens, and ends the text that is being
    written when it is stopped."""

    def __init__(
        self, app: Starlette, port: int, on_listening: Callable[[str], None]
    ) -> None:
        """Listen at `port`, any free one for 0; `on_listening` is told the address."""
        config = uvicorn.Config(
            app,
            host=LOOPBACK,
            port=port,
            ws="none",
            http="h11",
            loop="asyncio",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            h11_max_incomplete_event_size=16 << 10,
            limit_concurrency=64,
            timeout_keep_alive=75,
            timeout_graceful_shutdown=1,
        )
        super().__init__(config)
        self._stop_texts = app.state.texts.stop
        self._on_listening = on_listening

    def listen(self) -> None:
        """Run until stopped.

        Raises:
            InvalidSettingsError: the port cannot be had.
        """
        # What it logs may quote what was asked; its own complaints come as errors.
        log = logging.getLogger("uvicorn.error")
        log.addHandler(logging.NullHandler())
        log.propagate = False
        try:
            self.run()
        except SystemExit as error:
            raise InvalidSettingsError(
                f"port {self.config.port} of this machine cannot be had; choose "
                "another with --port, or 0 for any"
            ) from error

    async def startup(self, sockets: object = None) -> None:
        """Listen, and say so."""
        del sockets
        await super().startup()
        port = self.servers[0].sockets[0].getsockname()[1]
        self._on_listening(f"http://{LOOPBACK}:{port}/v1")

    async def shutdown(self, sockets: object = None) -> None:
        """End the text, then hang up."""
        del sockets
        self._stop_texts()
        await super().shutdown()
