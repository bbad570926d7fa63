"""Base class of the API's pydantic models."""

from pydantic import BaseModel, ConfigDict


class ApiModel(BaseModel):
    """Its validator is built on first use: most processes never use most of the models."""

    model_config = ConfigDict(defer_build=True)
