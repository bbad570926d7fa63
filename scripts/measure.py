"""How readable the source is, in figures: `python scripts/measure.py`.

Prints modules, lines, lengths of functions and files, shared class names, and how often the words listed
below are left in names. Import cycles are checked by `make check`.
"""

import ast
import re
from collections import Counter, defaultdict
from pathlib import Path

SOURCES = Path(__file__).parents[1] / "src" / "reedbed"
MAX_FILE_LINES = 500
MAX_FUNCTION_LINES = 50
# Words that meant something only here, or hide what a name holds.
DIALECT = frozenset(
    re.findall(
        r"\w+",
        """
        door doors wish wishes said told shelf purse toll spoken nap naps leftovers steadiness switchboard
        letter letters speech pacer meters packing setback sighting tally twin lane lanes loan mend mended
        tidy breathe sift sifted judge judged masthead farewell begun beside stranger strangers somebody
        everybody nobody reed reeds waking ear heard vouch
        """,
    )
)


def main() -> None:
    functions: list[tuple[int, str]] = []
    classes: defaultdict[str, list[str]] = defaultdict(list)
    words: Counter[str] = Counter()
    lengths: dict[str, int] = {}
    for file in SOURCES.rglob("*.py"):
        name = str(file.relative_to(SOURCES))
        if "migrations/versions" in name:
            continue
        text = file.read_text()
        lengths[name] = text.count("\n")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                functions.append(((node.end_lineno or 0) - node.lineno + 1, f"{name}:{node.name}"))
            elif isinstance(node, ast.ClassDef):
                classes[node.name].append(name)
            words.update(_words_of(node) & DIALECT)
    functions.sort()
    print(f"modules            {len(lengths)}")
    print(f"lines              {sum(lengths.values())}")
    small = sum(length < 100 for name, length in lengths.items() if "__init__" not in name)
    print(f"under 100 lines    {small}")
    median, p90 = _at(functions, 0.5), _at(functions, 0.9)
    print(f"function lines     median {median}, p90 {p90}, max {functions[-1][0]}")
    print(f"shared class names {sum(len(files) > 1 for files in classes.values())}")
    print(f"dialect in names   {sum(words.values())} {dict(words.most_common(12))}")
    for length, name in functions:
        if length > MAX_FUNCTION_LINES:
            print(f"long function      {length} {name}")
    for name, length in sorted(lengths.items()):
        if length > MAX_FILE_LINES:
            print(f"long file          {length} {name}")


def _words_of(node: ast.AST) -> set[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            pass
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name):
            pass
        case _:
            return set()
    return {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name)}


def _at(functions: list[tuple[int, str]], share: float) -> int:
    return functions[int(len(functions) * share)][0]


if __name__ == "__main__":
    main()
