"""Every kind of job and who handles it."""

from collections.abc import Mapping

from reedbed.services import refresh_progress
from reedbed.services.jobs import Handler

HANDLERS: Mapping[str, Handler] = {
    refresh_progress.JOB_KIND: refresh_progress.tell_progress,
}
