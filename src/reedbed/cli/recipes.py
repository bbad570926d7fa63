"""`reedbed recipe check`: whether files of recipes are right, and what they add."""

import sys
from pathlib import Path

import click

from reedbed.domain.recipes.values import RecipeFile
from reedbed.settings import load


@click.group("recipe")
def recipe_group() -> None:
    """Files that add sites, services to send entries to, and themes (docs/plugins.md)."""


@recipe_group.command("check")
@click.argument("files", nargs=-1, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--data-dir", type=click.Path(path_type=Path), help="Where the database and its backups live.")
def check_recipes(files: tuple[Path, ...], data_dir: Path | None) -> None:
    """Check these files, or all in the folder of recipes. Exit code 1 if one is wrong."""
    from reedbed.ingest.recipes import read_recipe_file

    folder = load({"data_dir": data_dir}).data_dir / "recipes"
    chosen = files or tuple(sorted(folder.glob("*.toml")))
    if not chosen:
        click.echo(f"There are no files in {folder}.")
    read = [read_recipe_file(file) for file in chosen]
    for file in read:
        _show(file)
    sys.exit(1 if any(file.problems for file in read) else 0)


def _show(file: RecipeFile) -> None:
    for problem in file.problems:
        key = f"{problem.field}: " if problem.field else ""
        click.echo(f"{file.file}: {key}{problem.message}", err=True)
    if file.recipe is not None:
        kind = type(file.recipe).__name__.removesuffix("Recipe").lower()
        click.echo(f"{file.file}: the {kind} {file.recipe.name} is right.")
