"""HTTP code shared by the web pages and the API: authentication, errors, middleware, responses.

It may import services; `web`, `api` and the other surfaces may import it.
"""
