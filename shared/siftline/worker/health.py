"""``GET /health`` of the worker, on loopback: for a container's health check and for a look by hand."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from siftline.worker.worker import Worker


def serve_health(worker: Worker, port: int) -> ThreadingHTTPServer:
    """Answer on 127.0.0.1 in a thread: 200 with the worker's state, 503 once a part of it has died."""

    class Handler(BaseHTTPRequestHandler):
        """Answers one request."""

        def do_GET(self) -> None:
            """Answer with the worker's state, whatever the path."""
            state = worker.state()
            content = json.dumps(state).encode()
            self.send_response(200 if state["healthy"] else 503)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  -- http.server's own name
            """Keep quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    threading.Thread(target=server.serve_forever, name="health", daemon=True).start()
    return server
