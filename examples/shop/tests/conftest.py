"""What the tests share: a stocked shop, and a web server for the network clients."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from shop import Customer, Inventory
from shop.catalog import sample


@pytest.fixture
def goods():
    return sample()


@pytest.fixture
def stock(goods):
    return Inventory({product.sku: 20 for product in goods})


@pytest.fixture
def ada():
    return Customer("ada@example.org", "Ada")


class Upstream:
    """Answers every request with the next of its prepared replies; the last one stays."""

    def __init__(self):
        self.replies = []
        self.requests = []
        upstream = self

        class Handler(BaseHTTPRequestHandler):
            def answer(self):
                length = int(self.headers.get("Content-Length", 0))
                upstream.requests.append((self.path, self.rfile.read(length)))
                status, body = upstream.replies[0]
                if len(upstream.replies) > 1:
                    upstream.replies.pop(0)
                data = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = answer

            def log_message(self, *args):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True)
        self.thread.start()

    def close(self):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


@pytest.fixture
def upstream(monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    server = Upstream()
    yield server
    server.close()
