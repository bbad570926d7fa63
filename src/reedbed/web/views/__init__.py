"""View models: frozen values that templates print without further logic.

Each page template receives three names: `frame` (the layout), `sidebar` (None before login) and `view`
(the page itself, one class per template).
"""
