"""A webhook receiver for Python 3.9 or newer. No packages.

    WEBHOOK_SECRET=whsec_… PORT=9000 python3 receiver.py
"""
import hashlib
import hmac
import json
import os
import re
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECRET = os.environ.get("WEBHOOK_SECRET", "")
TOLERANCE_S = 300
BODY_BYTES_MAX = 1_000_000


def is_genuine(raw_body, header, secret, now_s=None):
    """True if one of the header's v1 values is ours, over the raw bytes, and its time is near.

    During a rotation there are two v1 values.
    """
    parts = [part.strip() for part in (header or "").split(",")]
    t = next((part[2:] for part in parts if part.startswith("t=")), "")
    now_s = int(time.time()) if now_s is None else now_s
    if not re.fullmatch(r"[0-9]{1,12}", t) or abs(now_s - int(t)) > TOLERANCE_S:
        return False
    expected = hmac.new(secret.encode(), t.encode() + b"." + raw_body, hashlib.sha256).hexdigest().encode()
    given = [part[3:].encode() for part in parts if part.startswith("v1=")]
    return any([hmac.compare_digest(one, expected) for one in given])


# Ids that were handled. Keep them in your database, under a unique index, for two days.
SEEN = set()


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        length = int(self.headers.get("Content-Length", "0"))
        if length > BODY_BYTES_MAX:
            return self.answer(413)
        raw_body = self.rfile.read(length)
        if not is_genuine(raw_body, self.headers.get("X-Service-Signature"), SECRET):
            return self.answer(401)
        event = json.loads(raw_body)
        if event["id"] not in SEEN:
            SEEN.add(event["id"])
            print(event["event"], event["data"].get("id", ""), flush=True)
        # Answer first, work later: after 10 seconds the delivery counts as failed.
        return self.answer(204)

    def answer(self, status):
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "9000"))), Receiver)
    print("listening", server.server_port, flush=True)
    server.serve_forever()
