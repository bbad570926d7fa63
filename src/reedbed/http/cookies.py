"""The names of our cookies."""

SESSION_COOKIE = "reedbed_session"
VISITOR_COOKIE = "reedbed_visitor"
"""Before there is a session (log in, set-up) form tokens are bound to this one."""
