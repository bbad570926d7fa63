"""Places: each address of a list, what it asks the store, what it is called, what marking it means."""

from urllib.parse import quote, urlencode

from reedbed.domain.accounts import User
from reedbed.domain.entries import View, ViewQuery
from reedbed.domain.errors import Invalid, NotFound
from reedbed.domain.paging import Order
from reedbed.domain.records import record
from reedbed.http.ids import path_id
from reedbed.services.preferences import preferences_of
from reedbed.store import folders, subscriptions
from reedbed.store.database import Tx
from reedbed.web.speech import translate
from reedbed.web.views.frame import HiddenField

SMART: dict[str, View] = {
    "unread": "unread",
    "all": "all",
    "starred": "starred",
    "later": "later",
    "history": "history",
}


@record
class Place:
    address: str
    title: str
    query: ViewQuery
    count_key: str = ""
    subscription_id: int | None = None
    usual: Order = "newest"
    """The order this user has chosen for lists: an address need not name it."""

    def list_address(self, *, cursor: str = "", order: Order | None = None) -> str:
        return self._address(self.address, order or self.query.order, cursor)

    def entry_address(self, entry_id: int) -> str:
        return self._address(f"{self.address}/entry/{entry_id}", self.query.order)

    def _address(self, path: str, order: str, cursor: str = "") -> str:
        params = {"order": order} if order != self.usual else {}
        if cursor:
            params["cursor"] = cursor
        return f"{path}?{urlencode(params)}" if params else path

    def scope(self) -> tuple[HiddenField, ...]:
        """What the mark-read forms send along."""
        query = self.query
        fields = [("view", query.view), ("order", query.order)]
        fields += [
            (name, str(value))
            for name, value in (
                ("feed_id", query.feed_id),
                ("folder_id", query.folder_id),
                ("tag", query.tag),
            )
            if value is not None
        ]
        return tuple(HiddenField(name, value) for name, value in fields)


def smart_place(name: str, order: str | None, usual: Order) -> Place:
    titles = {
        "unread": translate("Unread"),
        "all": translate("All entries"),
        "starred": translate("Starred"),
        "later": translate("Later"),
        "history": translate("Recently read"),
    }
    query = ViewQuery(SMART[name], read_order(order, usual))
    return Place(f"/{name}", titles[name], query, count_key=name, usual=usual)


async def folder_place(tx: Tx, user_id: int, text: str, order: str | None, usual: Order) -> Place:
    folder = await folders.get(tx, user_id, path_id(text))
    if folder is None:
        raise NotFound("There is no such folder")
    query = ViewQuery("unread", read_order(order, usual), folder_id=folder.id)
    return Place(f"/folder/{folder.id}", folder.name, query, f"folder:{folder.id}", usual=usual)


async def feed_place(tx: Tx, user_id: int, text: str, order: str | None, usual: Order) -> Place:
    followed = await subscriptions.get(tx, user_id, path_id(text))
    if followed is None:
        raise NotFound("Feed not found")
    query = ViewQuery("all", read_order(order, usual), feed_id=followed.feed.id)
    key = f"feed:{followed.feed.id}"
    return Place(f"/feed/{followed.id}", followed.title, query, key, followed.id, usual)


def tag_place(name: str, order: str | None, usual: Order) -> Place:
    query = ViewQuery("all", read_order(order, usual), tag=name)
    return Place(f"/tag/{quote(name, safe='')}", name, query, f"tag:{name}", usual=usual)


def usual_order(user: User) -> Order:
    return "oldest" if preferences_of(user).order == "oldest" else "newest"


def read_order(order: str | None, usual: Order) -> Order:
    if order not in (None, "", "newest", "oldest"):
        raise Invalid("The order is newest or oldest.", field="order")
    return order or usual
