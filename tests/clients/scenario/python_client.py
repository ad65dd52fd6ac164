"""The scenario with openapi-python-client."""

import os

from sms_api import AuthenticatedClient
from sms_api.api.campaigns import campaign_create, campaign_send
from sms_api.api.contacts import contact_create
from sms_api.api.lists import list_add, list_create
from sms_api.api.messages import message_export, message_list, message_send
from sms_api.models import (
    ApiError,
    BatchEnvelope,
    CampaignInput,
    CampaignMadeEnvelope,
    CampaignSendEnvelope,
    ContactInput,
    CustomFieldsInput,
    ContactListMadeEnvelope,
    ContactMadeEnvelope,
    ListContactsInput,
    ListInput,
    MessagePage,
    SendRequest,
)
from sms_api.types import UNSET, Unset
from sms_operator import AuthenticatedClient as OperatorClient
from sms_operator.api.accounts import account_create, account_get, account_list
from sms_operator.models import AccountInput, AccountMadeEnvelope, AccountPage
from sms_operator.models import ApiError as OperatorError

url = os.environ["SMS_URL"]
client = AuthenticatedClient(base_url=f"{url}/api/v1", token=os.environ["SMS_KEY"])

# Send.
batch = "openapi-python-client"
to = [f"07700 90016{digit}" for digit in range(5)]
sent = message_send.sync(
    client=client,
    body=SendRequest(to=to, body="Hello", client_ref=batch),
    idempotency_key=batch,
)
assert isinstance(sent, BatchEnvelope), sent
assert len(sent.data.messages) == 5 and sent.meta.credits_ == 5

# List all pages.
ids: set[str] = set()
cursor: str | Unset = UNSET
while True:
    page = message_list.sync(client=client, client_ref=batch, limit=2, cursor=cursor)
    assert isinstance(page, MessagePage), page
    ids.update(message.id for message in page.data)
    if page.meta.next_cursor is None:
        break
    cursor = page.meta.next_cursor
assert len(ids) == 5
export = message_export.sync(client=client, client_ref=batch)
assert isinstance(export, str) and export.count("\n") == 6

# Create a contact.
custom = CustomFieldsInput.from_dict({"points": 120, "vip": True})
person = ContactInput(phone="07700 900165", first_name="Sam", custom=custom)
contact = contact_create.sync(client=client, body=person)
assert isinstance(contact, ContactMadeEnvelope), contact
assert contact.data.custom["points"] == 120

# Launch a campaign.
made = list_create.sync(client=client, body=ListInput(name=batch))
assert isinstance(made, ContactListMadeEnvelope), made
list_add.sync(made.data.id, client=client, body=ListContactsInput(contact_ids=[contact.data.id]))
draft = campaign_create.sync(
    client=client,
    body=CampaignInput(
        name=batch, body="Hi {first_name}", list_id=made.data.id, ignore_quiet_hours=True
    ),
)
assert isinstance(draft, CampaignMadeEnvelope), draft
launched = campaign_send.sync(draft.data.id, client=client)
assert isinstance(launched, CampaignSendEnvelope), launched
assert launched.data.recipients == 1

# Read an error's code.
twice = contact_create.sync(client=client, body=person)
assert isinstance(twice, ApiError) and twice.error.code == "contact_exists", twice

# The operator's API.
operator = OperatorClient(base_url=f"{url}/admin/v1", token=os.environ["SMS_ADMIN_TOKEN"])
account = account_create.sync(client=operator, body=AccountInput(name=batch, credits_=7))
assert isinstance(account, AccountMadeEnvelope) and account.data.credits_ == 7, account
accounts = account_list.sync(client=operator, limit=1)
assert isinstance(accounts, AccountPage) and accounts.data[0].name == batch, accounts
missing = account_get.sync("acc_none", client=operator)
assert isinstance(missing, OperatorError) and missing.error.code == "not_found", missing
