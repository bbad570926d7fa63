"""Every kind of job and who handles it."""

from collections.abc import Mapping

from reedbed.services import mail, refresh_progress
from reedbed.services.jobs import Handler

HANDLERS: Mapping[str, Handler] = {
    mail.JOB_KIND: mail.post_letter,
    refresh_progress.JOB_KIND: refresh_progress.tell_progress,
}
