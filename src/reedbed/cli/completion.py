"""`reedbed completion`: what a shell needs to complete commands and options."""

import click
from click.shell_completion import get_completion_class


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion for a shell: `eval "$(reedbed completion bash)"`, or keep it in a file."""
    from reedbed.cli.root import root

    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(root, {}, "reedbed", "_REEDBED_COMPLETE").source())
