"""A local S3 server over a folder: what a reader asks of one, listing, size and ranges."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape


@contextmanager
def serve(root: Path) -> Iterator[str]:
    """Serve the folders of ``root`` as buckets; yield host and port."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_HEAD(self) -> None:
            self._answer(body=False)

        def do_GET(self) -> None:
            self._answer(body=True)

        def _answer(self, *, body: bool) -> None:
            url = urlsplit(self.path)
            path = root / unquote(url.path).strip("/")
            query = parse_qs(url.query)
            if "list-type" in query:
                self._send(200, _listing(path, query), {"Content-Type": "application/xml"}, body)
            elif path.is_file():
                data, total = path.read_bytes(), path.stat().st_size
                span = self.headers.get("Range")
                headers = {"Last-Modified": "Thu, 01 Jan 2026 00:00:00 GMT", "ETag": '"x"'}
                if span is None:
                    self._send(200, data, headers, body)
                    return
                first, last = (int(end) for end in span.removeprefix("bytes=").split("-"))
                last = min(last, total - 1)
                headers["Content-Range"] = f"bytes {first}-{last}/{total}"
                self._send(206, data[first : last + 1], headers, body)
            elif path.is_dir() and path.parent == root:
                self._send(200, b"", {}, body)
            else:
                self._send(404, b"", {}, body)

        def _send(self, code: int, data: bytes, headers: dict[str, str], body: bool) -> None:
            self.send_response(code)
            for name, value in {**headers, "Content-Length": str(len(data))}.items():
                self.send_header(name, value)
            self.end_headers()
            if body:
                self.wfile.write(data)

        def log_message(self, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _listing(bucket: Path, query: dict[str, list[str]]) -> bytes:
    prefix = query.get("prefix", [""])[0]
    keys = sorted(
        path.relative_to(bucket).as_posix() for path in bucket.rglob("*") if path.is_file()
    )
    found = [key for key in keys if key.startswith(prefix)]
    contents = "".join(
        f"<Contents><Key>{escape(key)}</Key><Size>{(bucket / key).stat().st_size}</Size>"
        "<LastModified>2026-01-01T00:00:00.000Z</LastModified></Contents>"
        for key in found
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>'
        '<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
        f"<Name>{bucket.name}</Name><Prefix>{escape(prefix)}</Prefix><KeyCount>{len(found)}"
        f"</KeyCount><MaxKeys>1000</MaxKeys><IsTruncated>false</IsTruncated>{contents}"
        "</ListBucketResult>"
    ).encode()
