"""Pass arriving entries through plugins, and report to the operator which plugin was switched off."""

from collections.abc import Sequence

from reedbed.domain.feeds import ParsedEntry
from reedbed.domain.plugins import Drop, changed_entry, entry_for_plugin
from reedbed.ingest.plugins import PluginFailed
from reedbed.services.runtime import Runtime
from reedbed.store import users


async def pass_entries(runtime: Runtime, feed_url: str, entries: Sequence[ParsedEntry]) -> Sequence[ParsedEntry]:
    """Return the entries as changed by plugins, not sanitized yet. If a plugin fails, the entry stays unchanged."""
    for name in runtime.plugins.names("entry_arriving"):
        given = entries

        def change(hook: object, given: Sequence[ParsedEntry] = given) -> list[ParsedEntry]:
            assert callable(hook)
            changed = (changed_entry(entry, hook(entry_for_plugin(entry, feed_url))) for entry in given)
            return [entry for entry in changed if not isinstance(entry, Drop)]

        try:
            entries = await runtime.plugins.call(name, "entry_arriving", change)
        except PluginFailed:
            continue
    return entries


async def report_switched_off(runtime: Runtime) -> None:
    """Record which plugins this process has switched off, for the operator's page."""
    for state in runtime.plugins.newly_off():
        async with runtime.db.write() as tx:
            detail = {"plugin": state.name, "error": state.fault}
            await users.record_event(tx, runtime.now(), "plugin_switched_off", None, detail)
