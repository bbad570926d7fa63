"""The folder of recipes: read at the start, and again when a file in it has changed.

Every process looks by itself, so no event has to be sent to the others. Without files, nothing is loaded for it.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import structlog

from reedbed.domain.recipes.values import RecipeFile, Recipes

if TYPE_CHECKING:
    from reedbed.domain.errors import Invalid

log = structlog.get_logger()

_Signature = tuple[tuple[str, int, int], ...]


class RecipeFolder:
    def __init__(self, path: Path | None = None, added: Sequence[tuple[str, str]] = ()) -> None:
        """Without a path there are no recipes but those that plugins have added: name and text of each."""
        self.path = path
        self._added = added
        self._is_read = not added
        self.current = Recipes()
        self._signature: _Signature = ()

    def look(self) -> bool:
        """Read all files if one has changed; return whether they were read. Blocks: use a thread."""
        signature = self._sign()
        if self._is_read and (self.path is None or signature == self._signature):
            return False
        from reedbed.domain.recipes.files import (
            gather,
            read_file,  # imported late: most have no recipes
        )

        of_plugins = [read_file(f"{name}.toml", text.encode()) for name, text in self._added]
        files = _read(self.path, [name for name, _, _ in signature]) if self.path is not None else ()
        recipes = gather([*of_plugins, *files])
        self._is_read = True
        self._signature, self.current = signature, recipes
        for file in recipes.wrong:
            for problem in file.problems:
                log.warning("a recipe is wrong", file=file.file, key=problem.field, problem=problem.message)
        log.info("recipes were read", files=len(recipes.files), wrong=len(recipes.wrong))
        return True

    def _sign(self) -> _Signature:
        if self.path is None:
            return ()
        try:
            with os.scandir(self.path) as files:
                return tuple(sorted(_signs(files)))
        except OSError:
            return ()


def _signs(files: Iterator[os.DirEntry[str]]) -> Iterator[tuple[str, int, int]]:
    for file in files:
        if file.name.endswith(".toml") and not file.name.startswith("."):
            with suppress(OSError):
                status = file.stat()
                yield file.name, status.st_mtime_ns, status.st_size


def _read(folder: Path, names: list[str]) -> Iterator[RecipeFile]:
    from reedbed.domain.errors import Invalid
    from reedbed.domain.recipes.files import MAX_FILES

    for number, name in enumerate(names):
        if number < MAX_FILES:
            yield read_recipe_file(folder / name)
        else:
            yield RecipeFile(name, None, (Invalid("Only %(limit)s files are read.", limit=MAX_FILES),))


def read_recipe_file(file: Path) -> RecipeFile:
    from reedbed.domain.errors import Invalid
    from reedbed.domain.recipes.files import MAX_BYTES, read_file

    try:
        with file.open("rb") as opened:
            read = read_file(file.name, opened.read(MAX_BYTES + 1))
    except OSError as error:
        reason = error.strerror or type(error).__name__
        return RecipeFile(file.name, None, (Invalid("The file cannot be read: %(reason)s.", reason=reason),))
    problems = tuple(_selector_problems(read))
    return RecipeFile(file.name, None, problems) if problems else read


def _selector_problems(file: RecipeFile) -> "Iterator[Invalid]":
    """Selectors are checked by the parsers that will use them."""
    from reedbed.domain.recipes.values import SiteRecipe

    if not isinstance(file.recipe, SiteRecipe):
        return
    from reedbed.domain.errors import Invalid
    from reedbed.ingest.article.selectors import check_selector
    from reedbed.ingest.page_feeds.apply import check_selectors

    for key, selectors in (("keep", file.recipe.article.keep), ("drop", file.recipe.article.drop)):
        for selector in selectors:
            try:
                check_selector(selector, f"article.{key}")
            except Invalid as error:
                yield error
    for number, one in enumerate(file.recipe.lists, 1):
        try:
            check_selectors(one.selectors)
        except Invalid as error:
            error.field = f"lists[{number}].{error.field}"
            yield error
