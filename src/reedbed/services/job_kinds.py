"""Every kind of job and who handles it."""

from collections.abc import Mapping

from reedbed.services import (
    arrival,
    cleanups,
    digest_letters,
    digests,
    framing_asking,
    framing_jobs,
    full_articles,
    library_jobs,
    mail,
    newsletter_senders,
    pushes,
    questions,
    refresh_progress,
    rule_actions,
    rule_notices,
    rule_runs,
    saved_pages,
    sharing,
    webhook_calls,
)
from reedbed.services.jobs import Handler

HANDLERS: Mapping[str, Handler] = {
    mail.JOB_KIND: mail.post_letter,
    library_jobs.JOB_KIND: library_jobs.run_import,
    newsletter_senders.LEAVING_JOB: newsletter_senders.tell_list,
    refresh_progress.JOB_KIND: refresh_progress.tell_progress,
    arrival.ARTICLES_JOB: full_articles.fetch_articles,
    arrival.RULES_JOB: rule_runs.run_rules,
    cleanups.CLEANUP_JOB: cleanups.run_cleanup,
    rule_actions.NOTICE_JOB: rule_notices.send_notice,
    digests.JOB_KIND: digests.write_digest,
    digest_letters.JOB_KIND: digest_letters.post_digest,
    framing_jobs.FRAMING_JOB: framing_asking.read_feed,
    pushes.NEWS_JOB: pushes.tell_news,
    pushes.NOTE_JOB: pushes.send_note,
    questions.JOB_KIND: questions.answer_question,
    saved_pages.SAVED_JOB: saved_pages.read_saved_page,
    sharing.SHARE_JOB: sharing.send_link,
    webhook_calls.CALL_JOB: webhook_calls.call_webhook,
}
