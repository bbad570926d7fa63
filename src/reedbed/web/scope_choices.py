"""What a digest or an answer is told from: one select for everything, a folder, a tag or a saved search."""

from collections.abc import Mapping, Sequence
from urllib.parse import parse_qsl, urlencode

from reedbed.domain.cited import Scope
from reedbed.domain.records import record
from reedbed.http.ids import path_id
from reedbed.store import folders, searches, tags
from reedbed.store.database import Tx
from reedbed.web.feed_pages import folder_choices
from reedbed.web.speech import translate
from reedbed.web.views.frame import Choice

EVERYTHING = Scope()
LONGEST = 8_000


@record
class Scopes:
    """Those of one reader, with their names."""

    folders: Mapping[int, str]
    tags: Sequence[str]
    searches: Mapping[str, str]
    """Names by what is searched for."""

    def choices(self, chosen: Scope = EVERYTHING) -> tuple[Choice, ...]:
        """The chosen one is among them also when a program has put it together."""
        known = (
            EVERYTHING,
            *(Scope(folder_id=one) for one in self.folders),
            *(Scope(tag=one) for one in self.tags),
            *(Scope(q=one) for one in self.searches),
        )
        shown = known if chosen in known else (*known, chosen)
        return tuple(
            Choice(_written(one), self.name(one) or translate("Everything"), one == chosen) for one in shown
        )

    def name(self, scope: Scope) -> str:
        """Empty for everything."""
        parts: list[str] = []
        if scope.folder_id is not None:
            gone = translate("a folder that is gone")
            parts.append(translate("Folder: %(name)s", name=self.folders.get(scope.folder_id, gone)))
        if scope.tag is not None:
            parts.append(translate("Tag: %(name)s", name=scope.tag))
        if scope.q is not None:
            parts.append(translate("Search: %(name)s", name=self.searches.get(scope.q, scope.q)))
        return ", ".join(parts)


async def scopes_of(tx: Tx, user_id: int) -> Scopes:
    _, *named = folder_choices(await folders.of_user(tx, user_id), None)
    return Scopes(
        {int(one.value): one.name for one in named},
        await tags.names(tx, user_id),
        {one.query: one.name for one in await searches.of_user(tx, user_id)},
    )


def chosen_scope(value: str) -> Scope:
    """From the value of a choice."""
    said = dict(parse_qsl(value[:LONGEST]))
    folder, tag, q = (said.get(name, "") for name in ("folder_id", "tag", "q"))
    return Scope(path_id(folder) if folder else None, tag[:200] or None, q[:500] or None)


def _written(scope: Scope) -> str:
    said = {"folder_id": scope.folder_id, "tag": scope.tag, "q": scope.q}
    return urlencode({name: value for name, value in said.items() if value is not None})
