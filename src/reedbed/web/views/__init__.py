"""What the templates receive: frozen values with every word, address and number ready to print.

Each page template takes three names: `frame` (who looks, and how), `sidebar` (absent before the login) and
`view` (the page itself, one class per template).
"""
