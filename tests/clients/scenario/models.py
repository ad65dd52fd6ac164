"""The scenario with the models of datamodel-code-generator, which makes no HTTP client."""

import os
from typing import Any

import httpx
import sms_models as models
import sms_operator_models as operator_models
from pydantic import BaseModel

url = os.environ["SMS_URL"]
api = httpx.Client(
    base_url=f"{url}/api/v1", headers={"Authorization": f"Bearer {os.environ['SMS_KEY']}"}
)


def post(path: str, body: BaseModel | None, **headers: str) -> Any:
    content = None if body is None else body.model_dump(mode="json", exclude_none=True)
    return api.post(path, json=content, headers=headers).json()


# Send.
batch = "datamodel-code-generator"
send = models.SendRequest.model_validate(
    {
        "to": [f"07700 90017{digit}" for digit in range(5)],
        "body": "Hello",
        "client_ref": batch,
    }
)
key = {"Idempotency-Key": batch}
sent = models.BatchEnvelope.model_validate(post("/messages", send, **key))
assert len(sent.data.messages) == 5 and sent.meta.credits == 5

# List all pages.
ids: set[str] = set()
query: dict[str, str | int] = {"client_ref": batch, "limit": 2}
while True:
    page = models.MessagePage.model_validate(api.get("/messages", params=query).json())
    ids.update(message.id for message in page.data)
    if page.meta.next_cursor is None:
        break
    query["cursor"] = page.meta.next_cursor
assert len(ids) == 5

# Create a contact.
person = models.ContactInput.model_validate(
    {"phone": "07700 900175", "first_name": "Sam", "custom": {"points": 120, "vip": True}}
)
contact = models.ContactMadeEnvelope.model_validate(post("/contacts", person))

# Launch a campaign.
made = models.ContactListMadeEnvelope.model_validate(post("/lists", models.ListInput(name=batch)))
members = models.ListContactsInput(contact_ids=[contact.data.id])
post(f"/lists/{made.data.id}/contacts", members)
draft = models.CampaignInput(
    name=batch, body="Hi {first_name}", list_id=made.data.id, ignore_quiet_hours=True
)
campaign = models.CampaignMadeEnvelope.model_validate(post("/campaigns", draft))
launched = models.CampaignSendEnvelope.model_validate(
    post(f"/campaigns/{campaign.data.id}/send", None)
)
assert launched.data.recipients == 1

# Read an error's code.
twice = models.ApiError.model_validate(post("/contacts", person))
code = twice.error.code
assert getattr(code, "value", code) == "contact_exists"

# The operator's API.
operator = httpx.Client(
    base_url=f"{url}/admin/v1",
    headers={"Authorization": f"Bearer {os.environ['SMS_ADMIN_TOKEN']}"},
)
new = operator_models.AccountInput(name=batch, credits=7)
answer = operator.post("/accounts", json=new.model_dump(mode="json", exclude_none=True)).json()
assert operator_models.AccountMadeEnvelope.model_validate(answer).data.credits == 7
