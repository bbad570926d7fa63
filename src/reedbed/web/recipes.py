"""The style sheet of the operator's themes, and the page that shows what was added to this server."""

from fastapi import APIRouter, Request, Response

from reedbed.domain.errors import NotFound
from reedbed.domain.plugins import PluginState
from reedbed.domain.recipes.values import ConnectorRecipe, RecipeFile, SiteRecipe, ThemeRecipe
from reedbed.domain.records import record
from reedbed.http.auth import CurrentAdmin, CurrentRuntime
from reedbed.services.recipes import current_recipes
from reedbed.web.i18n import enumerated, explain, ngettext, translate
from reedbed.web.pages import see_other
from reedbed.web.sidebar import app_page
from reedbed.web.views.layout import Toast


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


sheet_router = APIRouter(include_in_schema=False)

A_YEAR = 365 * 24 * 3600


@sheet_router.get("/themes.css")
async def show_themes(runtime: CurrentRuntime, v: str = "") -> Response:
    """Without a login, because the login page has the theme too."""
    recipes = runtime.recipes.current
    known = v == recipes.style_version and v != ""
    caching = f"public, max-age={A_YEAR}, immutable" if known else "no-store"
    return Response(recipes.style_sheet, 200, {"Cache-Control": caching}, "text/css")


router = APIRouter(include_in_schema=False)


@router.get("/admin/added")
async def show_added(request: Request, runtime: CurrentRuntime, caller: CurrentAdmin) -> Response:
    recipes = await current_recipes(runtime)
    view = AddedPage(
        folder=str(runtime.recipes.path or ""),
        recipes=tuple(_recipe(file) for file in recipes.files),
        plugins=runtime.plugins.states,
    )
    return await app_page(request, runtime, caller, "recipes/added.html", view)


@router.post("/admin/added/plugins/{name}/on")
async def switch_on(request: Request, runtime: CurrentRuntime, caller: CurrentAdmin, name: str) -> Response:
    """In this process; the others are started again."""
    if not runtime.plugins.switch_on(name):
        raise NotFound("There is no such plugin.")
    return see_other(request, "/admin/added", toast=Toast(translate("Switched on again.")))


def _recipe(file: RecipeFile) -> RecipeView:
    return RecipeView(
        file=file.file,
        name="" if file.recipe is None else file.recipe.name,
        about=_about(file),
        problems=tuple((problem.field or "", explain(problem)) for problem in file.problems),
    )


def _about(file: RecipeFile) -> str:
    match file.recipe:
        case SiteRecipe(hosts=hosts):
            return translate("Site: %(hosts)s", hosts=enumerated(hosts))
        case ConnectorRecipe(service=service):
            steps = ngettext("%(num)s request", "%(num)s requests", len(service.steps))
            return translate("Service to send entries to: %(requests)s", requests=steps)
        case ThemeRecipe(light=light, dark=dark):
            if light and dark:
                return translate("Theme, light and dark")
            return translate("Light theme") if light else translate("Dark theme")
        case None:
            return ""
