"""Plugins: the four hooks of the example package, and plugins that raise, hang, lie and cannot be loaded."""

import asyncio
import json
import sys
import threading
import time
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from reedbed.ai.model import Completion, ModelError, Prompt
from reedbed.domain.failures import FailureCode
from reedbed.domain.plugins import MAX_FAULTS
from reedbed.domain.refresh.outcomes import Failed, FetchRequest
from reedbed.ingest import plugins as module
from reedbed.ingest.http.client import ACCEPT_PAGE
from reedbed.ingest.http.guard import Guard
from reedbed.ingest.plugins import PluginFailed, Plugins, SourceFetcher, checked_recipe, load_plugins
from reedbed.ingest.recipes import RecipeFolder
from reedbed.roles.policies import ai_policy
from reedbed.services.plugins import report_switched_off
from reedbed.settings import Settings
from tests.feedsite import FeedSite
from tests.harness import RuntimeHarness

EXAMPLE = Path(__file__).parents[2] / "examples" / "plugin"
Install = Callable[..., Plugins]


def _write_metadata(folder: Path, name: str, target: str) -> None:
    """What an installer leaves behind."""
    info = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{module.GROUP}]\n{target}\n")


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """`install(name=code)`: plugins from packages that Python finds."""
    monkeypatch.syspath_prepend(tmp_path)

    def write(**codes: str) -> Plugins:
        for name, code in codes.items():
            (tmp_path / f"plugin_{name}.py").write_text(code)
            _write_metadata(tmp_path, f"reedbed-{name}", f"{name} = plugin_{name}")
            monkeypatch.delitem(sys.modules, f"plugin_{name}", raising=False)
        return load_plugins(tuple(codes))

    return write


@pytest.fixture
def tides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Plugins:
    """The example package, by the entry point of its own pyproject.toml."""
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]
    ((name, target),) = project["entry-points"][module.GROUP].items()
    _write_metadata(tmp_path, project["name"], f"{name} = {target}")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.syspath_prepend(EXAMPLE)
    return load_plugins((name,))


def use(harness: RuntimeHarness, plugins: Plugins) -> None:
    fetcher = SourceFetcher(Guard([]))
    fetcher.plugins = plugins
    harness.runtime = replace(harness.runtime, plugins=plugins, fetcher=fetcher)


async def titles(harness: RuntimeHarness) -> list[str]:
    return sorted(await harness.column("SELECT title FROM entries"))


def test_the_example_has_every_hook(tides: Plugins) -> None:
    (state,) = tides.states
    assert (state.name, state.package, state.is_on, state.fault) == ("tides", "reedbed-tides 1.0", True, "")
    assert set(state.hooks) == {"fetch_source", "entry_arriving", "connector", "ask_model"}


async def test_a_source_is_followed_like_any_feed(harness: RuntimeHarness, tides: Plugins) -> None:
    use(harness, tides)
    await harness.follow("https://tides.example/harwich")
    await harness.check()
    found = await titles(harness)
    assert len(found) == 2 and all(title.startswith("High water at Harwich") for title in found)
    await harness.follow("https://tides.example/atlantis")
    await harness.check()
    (error,) = await harness.column("SELECT last_error FROM feed_fetch_state WHERE last_error IS NOT NULL")
    assert "atlantis" in error and len(await titles(harness)) == 2


async def test_pages_and_pictures_of_its_hosts_are_fetched_as_always(install: Install) -> None:
    plugins = install(
        odd="HOOKS_VERSION = 1\nsource_hosts = ['127.0.0.1']\ndef fetch_source(url):\n    raise KeyError(1)"
    )
    fetcher = SourceFetcher(Guard([]))
    fetcher.plugins = plugins
    for accept, asks_plugin in (("image/*", False), (ACCEPT_PAGE, False), (None, True)):
        outcome = await fetcher.fetch(FetchRequest("http://127.0.0.1/a", accept=accept))
        assert isinstance(outcome, Failed)
        assert (outcome.failure.code == FailureCode.PLUGIN_FAILED) is asks_plugin
        assert bool(plugins.states[0].fault) is asks_plugin
    await fetcher.close()


async def test_entries_are_changed_or_left_out_and_sanitized_after(
    harness: RuntimeHarness, site: FeedSite, install: Install
) -> None:
    code = """
HOOKS_VERSION = 1
def entry_arriving(entry):
    if "drop" in entry["title"]:
        return False
    return {"title": entry["title"].upper(), "content": "<p onclick='x()'>New</p><script>x()</script>",
            "categories": [*entry["categories"], entry["feed_url"][:4]]}
"""
    harness.runtime = replace(harness.runtime, plugins=install(loud=code))
    site.publish("keep", key="a", content="<p>Old</p>")
    site.publish("drop", key="b")
    await harness.follow(site.feed_url())
    await harness.check()
    assert await titles(harness) == ["KEEP"]
    (content,) = await harness.column("SELECT content FROM entry_bodies")
    assert "New" in content and "script" not in content and "onclick" not in content


@pytest.mark.parametrize(
    "body",
    ["raise KeyError('x')", "raise SystemExit(1)", "return 'text'", "return {'guid': 'x'}", "return {'title': 5}"],
)
async def test_a_failing_plugin_is_switched_off_and_no_entry_is_lost(
    harness: RuntimeHarness, site: FeedSite, install: Install, body: str
) -> None:
    plugins = install(bad=f"HOOKS_VERSION = 1\ndef entry_arriving(entry):\n    {body}\n")
    harness.runtime = replace(harness.runtime, plugins=plugins)
    await harness.follow(site.feed_url())
    for number in range(MAX_FAULTS + 1):
        site.publish(f"Entry {number}", key=str(number))
        await harness.check(at_least=86_400_000)
    assert len(await titles(harness)) == MAX_FAULTS + 1
    (state,) = plugins.states
    assert not state.is_on and state.fault.startswith("entry_arriving: ")
    for _ in range(2):
        await report_switched_off(harness.runtime)
    assert await harness.column("SELECT count(*) FROM event_log WHERE kind = 'plugin_switched_off'") == [1]
    assert plugins.switch_on("bad") and plugins.states[0].is_on


async def test_a_plugin_that_hangs_holds_nobody_up_and_is_off_at_once(
    install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(module.SECONDS, "entry_arriving", 0.2)
    plugins = install(slow="import time\nHOOKS_VERSION = 1\ndef entry_arriving(entry):\n    time.sleep(60)\n")
    ticks = asyncio.create_task(_ticks())
    started = time.monotonic()
    with pytest.raises(PluginFailed, match="no answer within"):
        await plugins.call("slow", "entry_arriving", lambda hook: hook({}))
    assert time.monotonic() - started < 10
    assert await ticks >= 2, "the event loop went on"
    assert not plugins.states[0].is_on
    with pytest.raises(PluginFailed, match="switched off"):
        await plugins.call("slow", "entry_arriving", lambda hook: hook({}))
    assert all(thread.daemon for thread in threading.enumerate() if thread.name == "plugin")


@pytest.mark.parametrize("error", ["TimeoutError('the site is slow')", "StopIteration()"])
async def test_an_error_of_the_hook_is_one_fault_and_no_call_without_end(install: Install, error: str) -> None:
    plugins = install(bad=f"HOOKS_VERSION = 1\ndef fetch_source(url):\n    raise {error}\n")
    for number in range(1, MAX_FAULTS + 1):
        with pytest.raises(PluginFailed, match=error.partition("(")[0]):
            await asyncio.wait_for(plugins.call("bad", "fetch_source", lambda hook: hook("")), 5)
        assert plugins.states[0].is_on == (number < MAX_FAULTS)


async def _ticks() -> int:
    ends_at, ticks = time.monotonic() + 0.15, 0
    while time.monotonic() < ends_at:
        await asyncio.sleep(0.01)
        ticks += 1
    return ticks


def test_what_cannot_be_loaded_is_named_and_the_others_go_on(install: Install) -> None:
    plugins = install(
        broken="raise RuntimeError('not today')",
        leaving="raise SystemExit(3)",
        old="HOOKS_VERSION = 0\ndef connector(): return ''",
        empty="HOOKS_VERSION = 1",
        nowhere="HOOKS_VERSION = 1\nsource_hosts = None\ndef fetch_source(url): return ''",
        anywhere="HOOKS_VERSION = 1\nsource_hosts = 'tides.example'\ndef fetch_source(url): return ''",
        good="HOOKS_VERSION = 1\ndef connector(): return ''",
    )
    faults = {state.name: state.fault for state in plugins.states if not state.is_on}
    assert list(faults) == ["broken", "leaving", "old", "empty", "nowhere", "anywhere"]
    assert plugins.source_of("https://tides.example/") is plugins.source_of("mailto:") is None
    assert "not today" in faults["broken"] and "HOOKS_VERSION is 0" in faults["old"]
    assert plugins.names("connector") == ["good"]
    (missing,) = load_plugins(("missing",)).states
    assert "No installed package" in missing.fault
    assert not plugins.switch_on("broken")


async def test_a_connector_is_a_service_and_a_wrong_one_is_named(tides: Plugins, install: Install) -> None:
    text = await tides.call("tides", "connector", lambda hook: checked_recipe(hook()))
    folder = RecipeFolder(None, [("tides", text), ("wrong", "kind = 'connector'")])
    assert folder.look() and not folder.look()
    assert [service.name for service in folder.current.connectors.values()] == ["Harbour log"]
    assert [file.file for file in folder.current.wrong] == ["wrong.toml"]


SCHEMA = {"type": "object", "properties": {"a": {}}}
PROMPT = Prompt("Say it short.", "The ferry is late. It rains.", "summary", SCHEMA, 100)


async def test_a_plugin_is_the_model(tides: Plugins, install: Install, tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path, plugins="tides,quiet", ai_provider="plugin", ai_model="tides")  # type: ignore[arg-type]
    model = ai_policy(settings, tides).model
    assert model is not None and model.is_remote
    answer = await model.ask(PROMPT)
    assert isinstance(answer, Completion) and json.loads(answer.text) == {"a": "The ferry is late."}
    quiet = install(quiet="HOOKS_VERSION = 1\ndef ask_model(request):\n    return None\n")
    other = ai_policy(settings.model_copy(update={"ai_model": "quiet"}), quiet).model
    assert other is not None
    failed = await other.ask(PROMPT)
    assert isinstance(failed, ModelError) and "quiet" in failed.failure.message


def test_a_model_must_be_a_plugin_that_is_on(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="REEDBED_PLUGINS"):
        Settings(data_dir=tmp_path, ai_provider="plugin", ai_model="tides")
