"""Sends a message, and again with the same key if the answer is lost: sender.py NUMBER TEXT"""
import json, os, sys, time, urllib.error, urllib.request, uuid
from typing import Any

SERVER = os.environ.get("SMS_API_URL", "http://127.0.0.1:8080")
HEADERS = {
    "Authorization": "Bearer " + os.environ["SMS_API_KEY"],
    "Content-Type": "application/json",
    "Idempotency-Key": str(uuid.uuid4()),  # better: the id of your order
}

def send(to: str, body: str, attempts: int = 5) -> Any:
    text = json.dumps({"to": to, "body": body}).encode()
    request = urllib.request.Request(SERVER + "/api/v1/messages", text, HEADERS)
    try:
        return json.load(urllib.request.urlopen(request, timeout=30))
    except urllib.error.HTTPError as refused:
        if refused.code < 500 and refused.code != 429 or attempts == 1:
            error = json.load(refused)["error"]
            raise SystemExit(f"{error['code']}: {error['message']}") from None
        time.sleep(int(refused.headers.get("Retry-After", 1)))
    except OSError:
        if attempts == 1:
            raise
        time.sleep(1)
    return send(to, body, attempts - 1)

answer = send(sys.argv[1], sys.argv[2])
print(*(f"{m['id']} {m['to']} {m['status']}" for m in answer["data"]["messages"]), sep="\n")
print(*answer["data"]["rejected"], sep="\n", file=sys.stderr)  # no number is not an error
print(f"{answer['meta']['credits']} charged, balance {answer['meta']['balance']}")
