"""Only root may answer for names and show a process another list of name servers."""

from tests.privileges import may_answer_names, may_mount

collect_ignore = [] if may_mount() and may_answer_names("127.0.99.53") else ["test_rebinding.py"]
