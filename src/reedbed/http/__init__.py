"""HTTP code shared by the web pages and the API: authentication, errors, middleware, responses.

It may import services; `web`, `api` and the other surfaces may import it.
"""

from pydantic import BaseModel

# FastAPI's models of the OpenAPI document are built when it is first described: 2.5 MB and 40 ms of each start.
BaseModel.model_config["defer_build"] = True
try:
    import fastapi.openapi.models  # noqa: F401  # pyright: ignore[reportUnusedImport]
finally:
    del BaseModel.model_config["defer_build"]
