"""How a user wants to see each list."""

from collections.abc import Mapping

from sqlalchemy import bindparam, delete, or_

from reedbed.domain.entries import EVERY_LIST, ListSettings
from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import Command, Query, insert, keyed, select
from reedbed.store.tables import list_settings

_MINE = list_settings.c.user_id == bindparam("owner")
_THIS = list_settings.c.list == bindparam("this")
_FIELDS = ("show", "order", "layout", "days")
_ROW = (list_settings.c.list, *(list_settings.c[name] for name in _FIELDS))

_ALL = Query(select(*_ROW).where(_MINE).order_by(list_settings.c.list), into=keyed(str, ListSettings))
_OF_LIST = Query(
    select(*_ROW).where(_MINE, or_(_THIS, list_settings.c.list == EVERY_LIST)), into=keyed(str, ListSettings)
)
_ADD = insert(list_settings)
_SET = Command(
    _ADD.on_conflict_do_update(
        index_elements=["user_id", "list"], set_={name: _ADD.excluded[name] for name in _FIELDS}
    ),
    columns=("user_id", "list", *_FIELDS),
)
_REMOVE_ALL = Command(delete(list_settings).where(_MINE))


async def of_user(tx: Tx, user_id: int) -> Mapping[str, ListSettings]:
    """By the name of the list."""
    return dict(await tx.all(_ALL, {"owner": user_id}))


async def of_list(tx: Tx, user_id: int, name: str) -> ListSettings:
    """The settings of this list, with those for every list where it has none."""
    kept = dict(await tx.all(_OF_LIST, {"owner": user_id, "this": name}))
    return kept.get(name, ListSettings()).over(kept.get(EVERY_LIST, ListSettings()))


async def keep(tx: Tx, user_id: int, name: str, settings: ListSettings) -> None:
    await tx.run(_SET, {"user_id": user_id, "list": name, **{field: getattr(settings, field) for field in _FIELDS}})


async def remove_all(tx: Tx, user_id: int) -> None:
    await tx.run(_REMOVE_ALL, {"owner": user_id})
