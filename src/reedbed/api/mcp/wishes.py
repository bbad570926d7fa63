"""What a tool is called with. Unknown words are refused: an assistant that guesses is told so."""

from pydantic import BaseModel, ConfigDict, Field

PAGE, LARGEST_PAGE = 20, 50


class Wish(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Paged(Wish):
    limit: int = Field(PAGE, ge=1, le=LARGEST_PAGE)
    cursor: str | None = Field(None, max_length=200, description="next_cursor of the page before.")
