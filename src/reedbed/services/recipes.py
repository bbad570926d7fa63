"""The operator's recipes: watch their folder, and apply recipes of lists."""

import asyncio

from reedbed.domain.page_feeds import PageList, PageRecipe
from reedbed.domain.recipes.values import Recipes
from reedbed.domain.refresh.outcomes import Fetched
from reedbed.services.runtime import Runtime

POLL_SECONDS = 10.0


async def watch_recipes(runtime: Runtime) -> None:
    """Run until cancelled. Each process watches the folder for itself."""
    while True:
        await asyncio.sleep(POLL_SECONDS)
        await current_recipes(runtime)
        if runtime.plugins:
            from reedbed.services.plugins import report_switched_off  # imported late: few have plugins

            await report_switched_off(runtime)


async def current_recipes(runtime: Runtime) -> Recipes:
    """The recipes as they are in the folder now."""
    await asyncio.to_thread(runtime.recipes.look)
    return runtime.recipes.current


async def find_list_of_recipe(runtime: Runtime, page: Fetched) -> PageList | None:
    """The list of this page that a recipe describes."""
    selectors = runtime.recipes.current.list_selectors(page.url)
    if selectors is None:
        return None
    from reedbed.ingest.page_feeds.sandbox import apply_safely  # imported late: few have recipes

    recipe = PageRecipe("markup", selectors)
    found = await apply_safely(page.body, recipe, page.url, now=runtime.now(), content_type=page.content_type)
    return found.lists[0] if found.lists else None
