"""The handler of every kind of job."""

from collections.abc import Mapping

from reedbed.services import articles, digests, email, jobs, push, questions, retention, sharing, webhooks
from reedbed.services.framing import manage as framing_manage
from reedbed.services.jobs import Handler
from reedbed.services.newsletters import senders as newsletter_senders
from reedbed.services.refresh import write as refresh_write
from reedbed.services.rules import manage as rule_manage
from reedbed.services.rules import match as rule_match
from reedbed.services.rules import notify as rule_notify
from reedbed.services.transfer import jobs as transfer_jobs

HANDLERS: Mapping[str, Handler] = {
    email.JOB_KIND: email.send_email_job,
    transfer_jobs.JOB_KIND: transfer_jobs.run_import,
    newsletter_senders.LEAVING_JOB: newsletter_senders.run_list_unsubscribe,
    refresh_write.JOB_KIND: refresh_write.report_progress,
    rule_match.ARTICLES_JOB: articles.fetch_articles,
    rule_match.RULES_JOB: rule_manage.run_rules,
    retention.CLEANUP_JOB: retention.run_cleanup,
    rule_match.NOTICE_JOB: rule_notify.send_notice,
    digests.DIGEST_JOB: digests.write_digest,
    digests.JOB_KIND: digests.mail_digest,
    jobs.FRAMING_JOB: framing_manage.read_feed,
    push.NEWS_JOB: push.report_new_entries,
    push.NOTE_JOB: push.send_note,
    questions.JOB_KIND: questions.answer_question,
    articles.SAVED_JOB: articles.read_saved_page,
    sharing.SHARE_JOB: sharing.send_link,
    webhooks.CALL_JOB: webhooks.call_webhook,
}
