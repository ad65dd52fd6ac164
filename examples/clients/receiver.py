"""Receives events, and refuses those that are not signed: receiver.py PORT"""
import base64, hashlib, hmac, json, os, sys, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# The secret of the endpoint, or what `sms listen --print-secret` prints.
KEY = base64.b64decode(os.environ["SMS_WEBHOOK_SECRET"].removeprefix("whsec_"))
seen: set[str] = set()

class Receiver(BaseHTTPRequestHandler):
    def is_genuine(self, body: bytes) -> bool:
        at = self.headers.get("webhook-timestamp", "0")
        if abs(time.time() - int(at)) > 300:
            return False
        head = f"{self.headers.get('webhook-id')}.{at}.".encode()
        expected = base64.b64encode(hmac.digest(KEY, head + body, hashlib.sha256)).decode()
        given = self.headers.get("webhook-signature", "").split()
        return any(hmac.compare_digest(one, "v1," + expected) for one in given)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        genuine = self.is_genuine(body)
        self.send_response(204 if genuine else 400)
        self.end_headers()
        event = json.loads(body)
        if genuine and event["id"] not in seen:  # a delivery may arrive twice
            seen.add(event["id"])
            print(event["type"], event["data"].get("id") or event["data"].get("phone"), flush=True)

ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Receiver).serve_forever()
