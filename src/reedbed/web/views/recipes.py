"""View models of what the operator has added: recipes."""

from reedbed.domain.plugins import PluginState
from reedbed.domain.records import record


@record
class RecipeView:
    file: str
    name: str
    about: str
    problems: tuple[tuple[str, str], ...] = ()
    """Key and sentence."""


@record
class AddedPage:
    folder: str
    recipes: tuple[RecipeView, ...]
    plugins: tuple[PluginState, ...] = ()
