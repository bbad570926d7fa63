"""The web interface: server-rendered pages, enhanced with htmx.

Every action is a plain form that works without JavaScript.
"""
