"""Verifies deliveries with the libraries of PyPI. Reads one JSON object a line,
{ secret, headers, body }, and answers each with { standardwebhooks: null or the error, stripe: ... }.
"""

import json
import sys

import stripe
from standardwebhooks.webhooks import Webhook


def failure_of(verify):
    try:
        verify()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


for line in sys.stdin:
    given = json.loads(line)
    secret, headers, body = given["secret"], given["headers"], given["body"]
    signature = headers["x-connect-signature"]
    verdict = {
        "standardwebhooks": failure_of(lambda: Webhook(secret).verify(body, headers)),
        "stripe": failure_of(lambda: stripe.Webhook.construct_event(body, signature, secret)),
    }
    print(json.dumps(verdict), flush=True)
