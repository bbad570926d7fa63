"""`reedbed admin ai`: the model, its queue and its cost."""

from pathlib import Path
from typing import Any

import click

from reedbed.cli.context import report_options, show, with_runtime
from reedbed.domain.times import rfc3339
from reedbed.services.runtime import Runtime


@click.group()
def ai() -> None:
    """The model, its queue and its cost."""


@ai.command()
@report_options
def status(data_dir: Path | None, *, as_json: bool) -> None:
    """The breaker, the queue, and what was spent."""
    show([with_runtime(_status, data_dir)], as_json=as_json)


@ai.command()
@report_options
def pause(data_dir: Path | None, *, as_json: bool) -> None:
    """Pause requests to the model; the built-in extract still works."""
    _set_paused(data_dir, paused=True, as_json=as_json)


@ai.command()
@report_options
def resume(data_dir: Path | None, *, as_json: bool) -> None:
    """Resume requests to the model."""
    _set_paused(data_dir, paused=False, as_json=as_json)


@ai.command()
@report_options
def retry(data_dir: Path | None, *, as_json: bool) -> None:
    """Retry at once what waits after failures."""

    async def work(runtime: Runtime) -> dict[str, Any]:
        from reedbed.services.ai import retry_all

        await retry_all(runtime)
        return await _status(runtime)

    show([with_runtime(work, data_dir)], as_json=as_json)


def _set_paused(data_dir: Path | None, *, paused: bool, as_json: bool) -> None:
    async def work(runtime: Runtime) -> dict[str, Any]:
        from reedbed.services.ai import set_paused

        await set_paused(runtime, paused=paused)
        return await _status(runtime)

    show([with_runtime(work, data_dir)], as_json=as_json)


async def _status(runtime: Runtime) -> dict[str, Any]:
    from reedbed.domain.ai import MILLIONTHS
    from reedbed.services.ai import ai_status

    status = await ai_status(runtime)
    failed_at = status.breaker.last_failure_at
    return {
        "model": status.model,
        "paused": status.paused,
        "breaker": status.state,
        "waiting": status.queue.waiting,
        "running": status.queue.running,
        "resting": status.queue.cooling,
        "given_up": status.failures,
        "tokens_today": status.today.tokens,
        "cost_today": status.today.cost / MILLIONTHS,
        "cost_month": status.month.cost / MILLIONTHS,
        "last_failure": rfc3339(failed_at) if failed_at else None,
    }
