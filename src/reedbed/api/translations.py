"""Translations of entries, and which feeds are translated without asking."""

from typing import Annotated, Literal

from pydantic import Field

from reedbed.domain.records import record
from reedbed.domain.translations import TranslationState
from reedbed.http.auth import CurrentCaller, CurrentRuntime
from reedbed.http.models import ApiModel, FailureName, FailureText, ResponseModel, Timestamp
from reedbed.http.params import IdPath
from reedbed.http.responses import ApiRouter, Json
from reedbed.services.translations.manage import feed_mode, get_translation, request_translation, set_feed_mode

router = ApiRouter(prefix="/api/v1", tags=["translations"])


class TranslateRequest(ApiModel):
    view: Literal["original", "translation", "both"] | None = Field(
        "translation", description="What pages and lists show of this entry from now on; null: as before."
    )
    again: bool = Field(False, description="Make a new translation, and try again what failed.")


@record
class TranslationResponse(ResponseModel):
    status: Annotated[
        str,
        Field(
            description=(
                "none (not requested), pending, ready, failed, unneeded (it is in the user's language), or refused "
                "(the user does not allow sending the text to the translator)"
            ),
            examples=["ready"],
        ),
    ]
    language: Annotated[str | None, Field(description="The language that it is translated into.", examples=["de"])]
    source_language: Annotated[str | None, Field(description="The language of the original.", examples=["en"])]
    view: Annotated[str, Field(description="original, translation or both", examples=["translation"])]
    automatic: Annotated[bool, Field(description="Entries like this one are translated without asking.")]
    outdated: Annotated[bool, Field(description="The entry has changed since it was translated.")]
    title: str | None
    content: Annotated[str | None, Field(description="Sanitised HTML. Blocks that stay in the original say so.")]
    pairs: Annotated[
        str | None, Field(description="The same with each paragraph of the original after its translation.")
    ]
    translator: Annotated[str | None, Field(description="The model or service.", examples=["libretranslate"])]
    translated_at: Timestamp | None
    blocks: Annotated[int, Field(description="Paragraphs, headings and the like that were to be translated.")]
    kept: Annotated[int, Field(description="How many of them stay in the original, because no translation was usable.")]
    error: FailureText
    error_code: FailureName


class ChangeFeedTranslationRequest(ApiModel):
    mode: Literal["", "always", "never"] = Field(description="Empty: as the user's preferences say.")


@record
class FeedTranslationResponse(ResponseModel):
    mode: Annotated[str, Field(description="always, never, or empty: as the user's preferences say.")]


@router.get("/entries/{entry_id}/translation", summary="Get the translation; requests none")
async def get(runtime: CurrentRuntime, caller: CurrentCaller, entry_id: IdPath) -> Json[TranslationResponse]:
    return Json(_response(await get_translation(runtime, caller.user, entry_id)))


@router.post(
    "/entries/{entry_id}/translation",
    status_code=202,
    summary="Translate the entry, or choose what is shown of it",
    description="Returns at once; if the status is `pending`, an `entry_updated` event follows.",
)
async def translate(
    runtime: CurrentRuntime, caller: CurrentCaller, entry_id: IdPath, body: TranslateRequest
) -> Json[TranslationResponse]:
    state = await request_translation(runtime, caller.user, entry_id, body.view, again=body.again)
    return Json(_response(state), 202)


@router.get("/subscriptions/{subscription_id}/translation", summary="Whether a feed is translated without asking")
async def get_mode(
    runtime: CurrentRuntime, caller: CurrentCaller, subscription_id: IdPath
) -> Json[FeedTranslationResponse]:
    return Json(FeedTranslationResponse(await feed_mode(runtime, caller.user_id, subscription_id)))


@router.put("/subscriptions/{subscription_id}/translation", summary="Translate a feed always, never, or as usual")
async def set_mode(
    runtime: CurrentRuntime, caller: CurrentCaller, subscription_id: IdPath, body: ChangeFeedTranslationRequest
) -> Json[FeedTranslationResponse]:
    return Json(FeedTranslationResponse(await set_feed_mode(runtime, caller.user_id, subscription_id, body.mode)))


def _response(state: TranslationState) -> TranslationResponse:
    made = state.translation
    return TranslationResponse.of(
        state,
        language=state.language or None,
        source_language=state.source or None,
        title=made and made.title,
        content=made and made.content,
        pairs=made and made.pairs,
        translator=made and made.provider,
        translated_at=made and made.made_at,
        blocks=made.blocks if made else 0,
        kept=made.kept if made else 0,
    )
