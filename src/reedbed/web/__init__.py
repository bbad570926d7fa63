"""The page: server-rendered first, htmx after; every action is a plain form that works without a script."""
