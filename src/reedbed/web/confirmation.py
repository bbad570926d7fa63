"""The page that asks for a confirmation, and then sends the form again that needed it."""

from dataclasses import field

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse
from starlette.datastructures import FormData

from reedbed.domain.errors import Invalid, ReedbedError, TooMany
from reedbed.domain.records import record
from reedbed.domain.users import Caller
from reedbed.http.auth import DEVICE_COOKIE, FIELD, CurrentRuntime, CurrentSession, client_ip, get_runtime
from reedbed.http.errors import headers_of, status_of
from reedbed.services.confirmation import Proof, confirm, ways_to_confirm
from reedbed.services.runtime import Runtime
from reedbed.web.forms import form_text
from reedbed.web.i18n import explain
from reedbed.web.pages import is_htmx, local_path, page, see_other
from reedbed.web.views.layout import HiddenField

router = APIRouter(include_in_schema=False)

MAX_FIELDS, MAX_LENGTH = 50, 10_000
_OWN_PREFIX = "confirm_"
"""Of the fields of this page; all others belong to the form that is sent again."""


@record
class ConfirmPage:
    then: str
    method: str
    """Of the request that needs the confirmation: get or post."""
    ways: tuple[str, ...]
    email: str
    fields: tuple[HiddenField, ...] = ()
    errors: dict[str, str] = field(default_factory=dict[str, str])


@router.get("/confirm")
async def show(request: Request, runtime: CurrentRuntime, caller: CurrentSession, next: str = "/") -> Response:
    return await _page(request, runtime, caller, local_path(next), "get", FormData())


@router.post("/confirm")
async def do_confirm(request: Request, runtime: CurrentRuntime, caller: CurrentSession) -> Response:
    form = await request.form()
    then, method = local_path(form_text(form, "confirm_then") or "/"), form_text(form, "confirm_method") or "get"
    try:
        await confirm(runtime, caller, _proof(request, form))
    except (Invalid, TooMany) as error:
        return await _page(request, runtime, caller, then, method, form, error)
    if method == "get":
        return see_other(request, then)
    return RedirectResponse(then, 307)  # the browser sends the same form, now to where it belongs


def _proof(request: Request, form: FormData) -> Proof:
    password, code, passkey = (form_text(form, f"confirm_{way}") or "" for way in ("password", "code", "passkey"))
    return Proof(password, code, passkey, client_ip(request), request.cookies.get(DEVICE_COOKIE))


async def ask_for_confirmation(request: Request, caller: Caller) -> Response:
    """Answer a request that needs a confirmation, and keep what was typed."""
    path = request.url.path if not request.url.query else f"{request.url.path}?{request.url.query}"
    form = await request.form() if request.method == "POST" else FormData()
    response = await _page(request, get_runtime(request), caller, local_path(path), request.method.lower(), form)
    response.status_code = 403
    if is_htmx(request):
        response.headers["HX-Retarget"], response.headers["HX-Reswap"] = "body", "innerHTML"
    return response


async def _page(
    request: Request,
    runtime: Runtime,
    caller: Caller,
    then: str,
    method: str,
    form: FormData,
    error: ReedbedError | None = None,
) -> Response:
    field_name = getattr(error, "field", None) or "form"
    view = ConfirmPage(
        then=then,
        method="post" if method == "post" else "get",
        ways=await ways_to_confirm(runtime, caller.user_id),
        email=caller.user.email,
        fields=_kept_fields(form),
        errors={field_name: explain(error)} if error else {},
    )
    status, headers = (status_of(error), headers_of(error)) if error else (200, {})
    return await page(request, "auth/confirm.html", view, status=status, headers=headers)


def _kept_fields(form: FormData) -> tuple[HiddenField, ...]:
    return tuple(
        HiddenField(name, value)
        for name, value in form.multi_items()[:MAX_FIELDS]
        if name != FIELD and not name.startswith(_OWN_PREFIX) and isinstance(value, str) and len(value) <= MAX_LENGTH
    )
