"""The scenario with openapi-generator's Python client."""

import os

import gen_api
import gen_operator
from gen_api.exceptions import ApiException
from gen_operator.exceptions import ApiException as OperatorException

url = os.environ["SMS_URL"]
config = gen_api.Configuration(host=f"{url}/api/v1", access_token=os.environ["SMS_KEY"])
client = gen_api.ApiClient(config)
messages = gen_api.MessagesApi(client)
contacts = gen_api.ContactsApi(client)
lists = gen_api.ListsApi(client)
campaigns = gen_api.CampaignsApi(client)

# Send.
batch = "openapi-generator-python"
to = gen_api.Recipients([f"07700 90018{digit}" for digit in range(5)])
send = gen_api.SendRequest(to=to, body="Hello", client_ref=batch)
sent = messages.message_send(send, idempotency_key=batch)
assert len(sent.data.messages) == 5 and sent.meta.credits == 5

# List all pages.
ids: set[str] = set()
cursor: str | None = None
while True:
    page = messages.message_list(client_ref=batch, limit=2, cursor=cursor)
    ids.update(message.id for message in page.data)
    cursor = page.meta.next_cursor
    if cursor is None:
        break
assert len(ids) == 5

# Create a contact.
person = gen_api.ContactInput.from_dict(
    {"phone": "07700 900185", "first_name": "Sam", "custom": {"points": 120, "vip": True}}
)
assert person is not None
contact = contacts.contact_create(person)

# Launch a campaign.
made = lists.list_create(gen_api.ListInput(name=batch))
lists.list_add(made.data.id, gen_api.ListContactsInput(contact_ids=[contact.data.id]))
draft = gen_api.CampaignInput(
    name=batch, body="Hi {first_name}", list_id=made.data.id, ignore_quiet_hours=True
)
campaign = campaigns.campaign_create(draft)
launched = campaigns.campaign_send(campaign.data.id)
assert launched.data.recipients == 1

# Read an error's code.
try:
    contacts.contact_create(person)
    raise AssertionError("a second contact with one number")
except ApiException as error:
    assert error.status == 409
    assert error.data.error.code.actual_instance == "contact_exists"

# The operator's API.
operator_config = gen_operator.Configuration(
    host=f"{url}/admin/v1", access_token=os.environ["SMS_ADMIN_TOKEN"]
)
accounts = gen_operator.AccountsApi(gen_operator.ApiClient(operator_config))
account = accounts.account_create(gen_operator.AccountInput(name=batch, credits=7))
assert account.data.credits == 7
assert accounts.account_list(limit=1).data[0].name == batch
try:
    accounts.account_get("acc_none")
    raise AssertionError("an account that does not exist")
except OperatorException as error:
    assert error.data.error.code.actual_instance == "not_found"
