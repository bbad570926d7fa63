"""Every kind of job and who handles it."""

from collections.abc import Mapping

from reedbed.services import articles, digests, email, jobs, push, questions, retention, sharing, webhooks
from reedbed.services.framing import manage as framing_asking
from reedbed.services.jobs import Handler
from reedbed.services.newsletters import senders as newsletter_senders
from reedbed.services.refresh import write as refresh_progress
from reedbed.services.rules import manage as rule_runs
from reedbed.services.rules import match as arrival
from reedbed.services.rules import match as rule_actions
from reedbed.services.rules import notify as rule_notices
from reedbed.services.transfer import jobs as library_jobs

HANDLERS: Mapping[str, Handler] = {
    email.JOB_KIND: email.post_email,
    library_jobs.JOB_KIND: library_jobs.run_import,
    newsletter_senders.LEAVING_JOB: newsletter_senders.report_list,
    refresh_progress.JOB_KIND: refresh_progress.report_progress,
    arrival.ARTICLES_JOB: articles.fetch_articles,
    arrival.RULES_JOB: rule_runs.run_rules,
    retention.CLEANUP_JOB: retention.run_cleanup,
    rule_actions.NOTICE_JOB: rule_notices.send_notice,
    digests.DIGEST_JOB: digests.write_digest,
    digests.JOB_KIND: digests.post_digest,
    jobs.FRAMING_JOB: framing_asking.read_feed,
    push.NEWS_JOB: push.report_new_entries,
    push.NOTE_JOB: push.send_note,
    questions.JOB_KIND: questions.answer_question,
    articles.SAVED_JOB: articles.read_saved_page,
    sharing.SHARE_JOB: sharing.send_link,
    webhooks.CALL_JOB: webhooks.call_webhook,
}
