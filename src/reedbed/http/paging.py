"""How the API is asked for the next page of a list."""

from typing import Annotated

from fastapi import Query
from pydantic import WithJsonSchema

from reedbed.domain.paging import MAX_LIMIT

_LIMIT = {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT}

# Text for `page_limit`, so that a wrong one is told in our own words.
PageLimit = Annotated[str | None, Query(), WithJsonSchema(_LIMIT)]
PageCursor = Annotated[str | None, Query(max_length=200)]
