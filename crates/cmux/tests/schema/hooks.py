"""What schemathesis cannot know: how a webhook is signed, and which session it speaks through."""

import base64
import hashlib
import hmac
import os
import time
import uuid

import schemathesis

SECRET = os.environ["WEBHOOK_SECRET"].encode()
NO_SESSION = "ses_00000000000000000000000000"
SIGNATURES = {"x-hub-signature-256", "webhook-signature"}


@schemathesis.hook
def before_call(context, case, kwargs):
    """Signs what goes to a source that there is, unless the case brings a signature of its own."""
    if name_of(case) != "takeWebhook" or SIGNATURES & {name.lower() for name in case.headers or {}}:
        return
    sign = SIGN.get((case.path_parameters or {}).get("source"))
    if sign is not None:
        # Which bytes there are to sign is known once a request is made of the case.
        kwargs["auth"] = sign


@schemathesis.hook
def map_case(context, case):
    """Keeps the session that the cases speak through: without it, each would only be refused."""
    own = ("current", os.environ.get("OWN_SESSION"))
    if name_of(case) == "closeSession" and (case.path_parameters or {}).get("id") in own:
        case.path_parameters["id"] = NO_SESSION
    return case


def name_of(case):
    return case.operation.definition.raw.get("operationId")


def sign_for_github(request):
    digest = hmac.new(SECRET, body_of(request), hashlib.sha256).hexdigest()
    request.headers["X-Hub-Signature-256"] = f"sha256={digest}"
    request.headers.setdefault("X-GitHub-Delivery", uuid.uuid4().hex)
    return request


def sign_as_standard(request):
    name, at = uuid.uuid4().hex, int(time.time())
    signed = f"{name}.{at}.".encode() + body_of(request)
    digest = base64.b64encode(hmac.new(SECRET, signed, hashlib.sha256).digest()).decode()
    request.headers["webhook-id"] = name
    request.headers["webhook-timestamp"] = str(at)
    request.headers["webhook-signature"] = f"v1,{digest}"
    return request


def body_of(request):
    body = request.body or b""
    return body.encode() if isinstance(body, str) else body


SIGN = {"github": sign_for_github, "standard": sign_as_standard}
