"""Load the plugins that the operator named, call their hooks, and switch off those that fail.

A hook runs in a thread of its own, so that code that waits or never ends holds up nobody; Python cannot end such a
thread, so one call that takes too long switches the plugin off. Each process counts for itself.
"""

import asyncio
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from importlib.metadata import EntryPoint, entry_points
from typing import Any, cast
from urllib.parse import urlsplit

import structlog

from reedbed.domain.failures import Failure, FailureCode
from reedbed.domain.plugins import HOOKS, HOOKS_VERSION, MAX_FAULT, MAX_FAULTS, MAX_TEXT, PluginState
from reedbed.domain.records import record
from reedbed.domain.refresh.outcomes import TEMPORARY, Failed, Fetched, FetchRequest, Outcome
from reedbed.ingest.http.client import ACCEPT_FEED, Fetcher

log = structlog.get_logger()

GROUP = "reedbed.plugins"
SECONDS = {"fetch_source": 30.0, "entry_arriving": 2.0, "connector": 5.0, "ask_model": 120.0}


class PluginFailed(Exception):
    """A hook raised, took too long or gave a wrong answer, or its plugin is off. The text is for people."""


class Plugin:
    def __init__(self, name: str, package: str = "", code: Any = None, fault: str = "") -> None:
        self.name, self.package, self.code = name, package, code
        self.fault, self.is_on, self.faults = fault, not fault, 0
        self.hooks = tuple(hook for hook in HOOKS if callable(getattr(code, hook, None)))
        self.source_hosts = _hosts_of(code) if "fetch_source" in self.hooks else frozenset[str]()

    @property
    def state(self) -> PluginState:
        return PluginState(self.name, self.package, self.hooks, self.is_on, self.fault)

    def has(self, hook: str) -> bool:
        return self.is_on and hook in self.hooks

    def note_fault(self, hook: str, error: str, *, fatal: bool = False) -> None:
        self.faults += 1
        self.fault = f"{hook}: {error}"[:MAX_FAULT]
        log.warning("a plugin failed", plugin=self.name, hook=hook, error=error[:MAX_FAULT])
        if self.is_on and (fatal or self.faults >= MAX_FAULTS):
            self.is_on = False
            log.error("a plugin was switched off", plugin=self.name, error=self.fault)


class Plugins:
    """Those that `REEDBED_PLUGINS` names, in that order. Without any, nothing is loaded for them."""

    def __init__(self, plugins: Sequence[Plugin] = ()) -> None:
        self._plugins = {plugin.name: plugin for plugin in plugins}
        self._reported: set[str] = {plugin.name for plugin in plugins if not plugin.is_on}

    def __bool__(self) -> bool:
        return bool(self._plugins)

    @property
    def states(self) -> tuple[PluginState, ...]:
        return tuple(plugin.state for plugin in self._plugins.values())

    def names(self, hook: str) -> list[str]:
        return [name for name, plugin in self._plugins.items() if plugin.has(hook)]

    def source_of(self, url: str) -> str | None:
        """The name of the plugin that fetches from this host, even if it is switched off."""
        try:
            host = (urlsplit(url).hostname or "").lower()
        except ValueError:
            return None
        for name, plugin in self._plugins.items():
            if host in plugin.source_hosts:
                return name
        return None

    async def call(self, name: str, hook: str, work: Callable[[Any], Any]) -> Any:
        """Let `work` use the hook in a thread. Raises `PluginFailed`; nothing that the plugin does comes through."""
        plugin = self._plugins.get(name)
        if plugin is None or not plugin.has(hook):
            raise PluginFailed("The plugin is switched off.")
        try:
            returned = await asyncio.wait_for(_in_thread(work, getattr(plugin.code, hook)), SECONDS[hook])
        except TimeoutError:
            plugin.note_fault(hook, f"no answer within {SECONDS[hook]:g} seconds", fatal=True)
            raise PluginFailed(plugin.fault) from None
        if isinstance(returned, _Raised):
            plugin.note_fault(hook, f"{type(returned.error).__name__}: {returned.error}")
            raise PluginFailed(plugin.fault) from returned.error
        plugin.faults = 0
        return returned

    def switch_on(self, name: str) -> bool:
        plugin = self._plugins.get(name)
        if plugin is None or plugin.code is None:
            return False
        plugin.is_on, plugin.faults, plugin.fault = True, 0, ""
        self._reported.discard(name)
        return True

    def newly_off(self) -> list[PluginState]:
        """Those that were switched off since this was asked last."""
        found = [state for state in self.states if not state.is_on and state.name not in self._reported]
        self._reported.update(state.name for state in found)
        return found


@record
class _Raised:
    """What a hook raised. Not raised again: its own `TimeoutError` is no call that took too long."""

    error: BaseException


async def _in_thread(work: Callable[[Any], Any], hook: Any) -> Any:
    """A daemon thread: one that hangs must not keep the process from ending, as those of an executor would."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Any] = loop.create_future()

    def settle(returned: Any) -> None:
        if not done.done():
            done.set_result(returned)

    def run() -> None:
        try:
            returned = work(hook)
        except BaseException as error:
            returned = _Raised(error)
        with suppress(RuntimeError):  # the loop is closed when the process ends
            loop.call_soon_threadsafe(settle, returned)

    threading.Thread(target=run, name="plugin", daemon=True).start()
    return await done


# --- Loading


def load_plugins(wanted: Sequence[str]) -> Plugins:
    """Those that are missing or cannot be loaded are named, and the others go on. Blocks: it imports foreign code."""
    if not wanted:
        return Plugins()
    found = {entry.name: entry for entry in entry_points(group=GROUP)}
    return Plugins([_load(name, found.get(name)) for name in dict.fromkeys(wanted)])


def _load(name: str, entry: EntryPoint | None) -> Plugin:
    if entry is None:
        return Plugin(name, fault=f"No installed package has a plugin of this name (entry point group {GROUP}).")
    package = f"{entry.dist.name} {entry.dist.version}" if entry.dist is not None else ""
    try:
        code = entry.load()
        version = getattr(code, "HOOKS_VERSION", None)
        if version != HOOKS_VERSION:
            return Plugin(name, package, fault=f"HOOKS_VERSION is {version!r}, and must be {HOOKS_VERSION}.")
        plugin = Plugin(name, package, code)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        log.error("a plugin could not be loaded", plugin=name, error=repr(error)[:MAX_FAULT])
        return Plugin(name, package, fault=f"{type(error).__name__}: {error}"[:MAX_FAULT])
    return plugin if plugin.hooks else Plugin(name, package, fault="It has none of the hooks.")


def _hosts_of(code: Any) -> frozenset[str]:
    """Read once: an odd value must not fail every fetch, and a text would match parts of itself."""
    hosts = getattr(code, "source_hosts", ())
    if not isinstance(hosts, list | tuple | set | frozenset):
        raise ValueError("source_hosts must be a list of host names")
    return frozenset(str(host).lower() for host in cast(Iterable[object], hosts))


def checked_recipe(answer: object) -> str:
    """The text of a recipe, as in a file; its keys are checked like those of a file."""
    if not isinstance(answer, str) or len(answer) > 64_000:
        raise ValueError("connector must return the text of a recipe, of at most 64,000 characters")
    return answer


# --- Sources


class SourceFetcher(Fetcher):
    """Asks a plugin for the feeds of its hosts. Pages, pictures and all other hosts are fetched from the web."""

    plugins = Plugins()

    async def fetch(self, request: FetchRequest) -> Outcome:
        is_for_feed = request.accept in (None, ACCEPT_FEED)
        name = self.plugins.source_of(request.url) if is_for_feed else None
        if name is None:
            return await super().fetch(request)
        try:
            document = await self.plugins.call(name, "fetch_source", lambda hook: _document(hook(request.url)))
        except PluginFailed as error:
            return Failed(TEMPORARY, Failure(FailureCode.PLUGIN_FAILED, {"name": name, "error": str(error)}))
        return Fetched(200, request.url, document, None)


def _document(answer: object) -> bytes:
    document = answer.encode() if isinstance(answer, str) else answer
    if not isinstance(document, bytes) or len(document) > MAX_TEXT:
        raise ValueError(f"fetch_source must return a feed as text or bytes, of at most {MAX_TEXT} bytes")
    return document
