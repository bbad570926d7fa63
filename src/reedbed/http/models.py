"""The base of the models that the API reads and writes."""

from pydantic import BaseModel, ConfigDict


class ApiModel(BaseModel):
    """Its validator is built when it is first used: most processes never use most of the models."""

    model_config = ConfigDict(defer_build=True)
