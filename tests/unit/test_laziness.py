"""What is heavy is not loaded before it is used."""

import subprocess
import sys

from reedbed.services import articles, digests, email, jobs, push, questions, retention, sharing, webhooks
from reedbed.services.books import mail as book_mail
from reedbed.services.listening import manage as listening
from reedbed.services.newsletters import senders
from reedbed.services.refresh import notify as refresh_notify
from reedbed.services.refresh import write
from reedbed.services.rules import match
from reedbed.services.transfer import jobs as transfer_jobs
from reedbed.worker.jobs import HANDLERS


def test_the_application_starts_without_the_endpoint_for_assistants() -> None:
    code = "import sys, reedbed.roles.app; sys.exit('mcp' in sys.modules or 'jsonschema' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0


def test_an_idle_server_has_not_loaded_what_few_use() -> None:
    rare = "reedbed." + " reedbed.".join(
        (
            "cli.users",
            "ingest.smtp",
            "ingest.page_feeds",
            "services.transfer",
            "services.framing.manage",
            "services.framing.analyse",
            "ai.speech",
            "ai.answer_types",
            "ai.answers",
            "domain.interest.features",
            "services.interest",
            "store.sharing",
            "domain.recipes.files",
            "services.listening.manage",
            "services.published_feeds",
            "services.books.manage",
            "ingest.epub.writer",
            "services.translations.manage",
            "services.subscriptions.bulk",
        )
    )
    code = f"""
import sys, reedbed.cli.main, reedbed.cli.serve, reedbed.roles.run, reedbed.roles.app, reedbed.worker
sys.exit(", ".join(name for name in {rare.split()!r} if name in sys.modules) or 0)"""
    done = subprocess.run([sys.executable, "-c", code], check=False, timeout=60, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_log_does_not_load_a_library_that_happens_to_be_installed() -> None:
    code = """
import sys
from reedbed.cli import main
sys.argv = ["reedbed", "--version"]
try:
    main()
finally:
    import structlog
    assert "rich.console" not in sys.modules"""
    done = subprocess.run([sys.executable, "-c", code], check=False, timeout=60, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_every_kind_of_job_has_a_handler_that_can_be_imported() -> None:
    kinds = {
        articles.SAVED_JOB,
        book_mail.JOB_KIND,
        digests.DIGEST_JOB,
        digests.JOB_KIND,
        email.JOB_KIND,
        jobs.BOOK_JOB,
        jobs.FRAMING_JOB,
        listening.JOB_KIND,
        match.ARTICLES_JOB,
        match.NOTICE_JOB,
        match.RULES_JOB,
        push.NEW_ENTRIES_JOB,
        push.NOTE_JOB,
        questions.JOB_KIND,
        refresh_notify.BROKEN_JOB,
        refresh_notify.STOPPED_JOB,
        retention.CLEANUP_JOB,
        senders.LEAVING_JOB,
        sharing.SHARE_JOB,
        transfer_jobs.JOB_KIND,
        webhooks.CALL_JOB,
        write.JOB_KIND,
    }
    assert set(HANDLERS) == kinds
    assert all(map(callable, HANDLERS.values()))
