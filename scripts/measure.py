"""How readable the source is, in figures: `python scripts/measure.py`.

Prints modules, lines, lengths of functions and files, shared class names, import cycles, how often the words
listed below are left in names, and how many files one has to read to follow the three walks of
docs/architecture.md.
"""

import ast
import re
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "src" / "reedbed"
MAX_FILE_LINES = 500
MAX_FUNCTION_LINES = 50
# Words that meant something only here, or hide what a name holds. Words of the field that are also on the list of
# old names are left out: a list's words, a queue's place, an outlet, a proof, a session kept.
DIALECT = frozenset(
    re.findall(
        r"\w+",
        """
        at_once beat begun beside board breathe brought desk door doors doubt ear everybody farewell guests
        heard house judge judged lane lanes leftovers letters_of lift loan masthead mend mended meters nap naps
        newsroom nobody packing pacer pile postbox pulse purse reach reed reeds room said setback shelf sift sifted
        sighting somebody speech_of steadiness stranger strangers stumbling switchboard tally tidy toll told trouble
        trusts twin unpark usual vouch waking weigh wish wishes
        """,
    )
)
PUBLIC = {("api/framing.py", "everybody"), ("api/questions.py", "told")}
"""Fields of the API that keep the names they had in 0.1, beside plain ones."""
PROSE_DIALECT = frozenset(
    re.findall(
        r"\w+",
        """
        begun door doors farewell leftovers masthead mend mended mends nap naps newsroom pacer postbox purse said
        setback shelf sift sifted steadiness strangers switchboard tally tidied tidy toll told trouble unpark vouch
        wish wished wishes
        """,
    )
)
PROSE = {"src/reedbed": (".py", ".html"), "web/src": (".js", ".css"), "extension": (".js", ".html"), "docs": (".md",)}
PUBLIC_PROSE = {
    ("api/questions.py", "told"),
    ("store/tables/ai.py", "wishes"),
    ("store/tables/subscriptions.py", "wish"),
    ("domain/refresh/schedule.py", "wish"),
    ("web/feeds/routes.py", "trouble"),
    ("web/templates/partials/feed_row.html", "trouble"),
    ("web/src/js/acts.js", "trouble"),
    ("web/src/js/tree-trouble.js", "trouble"),
    # Names of tests, and plain English in texts that are translated.
    ("docs/security.md", "said"),
    ("ai/prompts.py", "strangers"),
    ("api/mcp/tools.py", "strangers"),
    ("web/auth.py", "told"),
    ("web/instance.py", "said"),
    ("web/instance.py", "trouble"),
    ("web/interest.py", "said"),
    ("web/questions.py", "told"),
    ("web/users.py", "tidy"),
    ("web/templates/instance/overview.html", "trouble"),
    ("web/templates/interest/page.html", "said"),
    ("web/templates/playback/connect.html", "begun"),
    ("web/templates/questions/answer.html", "told"),
    ("web/templates/stories/page.html", "said"),
}
"""Names of fields, tables, indexes, addresses and stored values of 0.1, and what is exempt for the reason given."""
# Lists of words of a language, which hold these as well.
WORD_LISTS = {
    "ai/answer_words.py",
    "domain/auth.py",
    "domain/stopwords.py",
    "domain/stories/compare.py",
    "ingest/article/metadata.py",
    "ingest/language.py",
    "ingest/stems.py",
}
# Each walk: at most so many files to read, and where it begins. The clients that `roles/build.py` puts into the
# runtime, and tasks that wait in a queue, are not found by following names, so they are listed.
WALKS = {
    "Mark all read": (6, {"web/read_state.py": ["mark_many"]}),
    "Feed refresh": (14, {"worker/refresh.py": [], "ingest/http/client.py": ["Fetcher"]}),
    "AI summary": (
        9,
        {
            "web/summaries.py": [],
            "services/summaries.py": [],
            "services/ai_worker.py": [],
            "ai/openai.py": ["OpenAiModel"],
        },
    ),
}
PLUMBING = {"services/live.py", "store/visibility.py", "worker/jobs.py"}

Name = tuple[str, str]
"""A file and a name at its top level."""


def main() -> None:
    trees = syntax_trees()
    lengths = {name: (SOURCES / name).read_text().count("\n") for name in trees}
    _print_sizes(trees, lengths)
    _print_names(trees)
    _print_prose()
    _print_cycles(trees)
    _print_walks(trees)
    for name, length in sorted(lengths.items()):
        if length > MAX_FILE_LINES:
            print(f"long file          {length} {name}")


def syntax_trees() -> dict[str, ast.Module]:
    """Of all files but the migrations, by their path."""
    return {
        str(file.relative_to(SOURCES)): ast.parse(file.read_text())
        for file in SOURCES.rglob("*.py")
        if "migrations/versions" not in str(file)
    }


def _print_sizes(trees: dict[str, ast.Module], lengths: dict[str, int]) -> None:
    functions = sorted(
        ((node.end_lineno or 0) - node.lineno + 1, f"{name}:{node.name}")
        for name, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    small = sum(length < 100 for name, length in lengths.items() if "__init__" not in name)
    median, p90 = (functions[int(len(functions) * share)][0] for share in (0.5, 0.9))
    print(f"modules            {len(lengths)}")
    print(f"lines              {sum(lengths.values())}")
    print(f"under 100 lines    {small}")
    print(f"function lines     median {median}, p90 {p90}, max {functions[-1][0]}")
    for length, name in functions:
        if length > MAX_FUNCTION_LINES:
            print(f"long function      {length} {name}")


def _print_names(trees: dict[str, ast.Module]) -> None:
    nodes = [(name, node) for name, tree in trees.items() for node in ast.walk(tree)]
    classes = Counter(node.name for _, node in nodes if isinstance(node, ast.ClassDef))
    print(f"shared class names {sum(count > 1 for count in classes.values())}")
    words = dialect_in_names(trees)
    print(f"dialect in names   {sum(words.values())}")
    by_file: defaultdict[str, list[str]] = defaultdict(list)
    for (name, word), count in sorted(words.items()):
        by_file[name].append(f"{word} {count}")
    for name, found in by_file.items():
        print(f"  {name}: {', '.join(found)}")


def dialect_in_names(trees: dict[str, ast.Module]) -> Counter[tuple[str, str]]:
    """How often each file uses each word."""
    nodes = [(name, node) for name, tree in trees.items() for node in ast.walk(tree)]
    words = Counter((name, word) for name, node in nodes for word in _words_of(node) & DIALECT)
    return Counter({place: count for place, count in words.items() if place not in PUBLIC})


def _print_prose() -> None:
    """Words of the dialect in comments, docstrings, log events, pages, scripts and documents."""
    found = list(dialect_in_prose())
    print(f"dialect in prose   {len(found)}", *found, sep="\n  " if found else "")


def dialect_in_prose() -> Iterator[str]:
    for file in sorted(_prose_files()):
        name = str(file.relative_to(ROOT))
        if name.removeprefix("src/reedbed/") in WORD_LISTS or "migrations/versions" in name:
            continue
        for number, text in _prose_of(file):
            for word in sorted(set(re.findall(r"[a-z]+", text.lower())) & PROSE_DIALECT):
                if (name.removeprefix("src/reedbed/"), word) not in PUBLIC_PROSE:
                    yield f"{name}:{number}: {word}"


def _prose_files() -> Iterator[Path]:
    yield from (ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md"))
    for folder, suffixes in PROSE.items():
        yield from (
            file for file in (ROOT / folder).rglob("*") if file.suffix in suffixes and "assets" not in file.parts
        )


def _prose_of(file: Path) -> Iterator[tuple[int, str]]:
    """Lines of a text; of Python its comments and strings."""
    if file.suffix != ".py":
        yield from enumerate(file.read_text().splitlines(), 1)
        return
    with file.open("rb") as source:
        for token in tokenize.tokenize(source.readline):
            if token.type in (tokenize.COMMENT, tokenize.STRING):
                yield token.start[0], token.string


def _words_of(node: ast.AST) -> set[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            pass
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name):
            pass
        case _:
            return set()
    return {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name)}


# --- Imports


def _print_cycles(trees: dict[str, ast.Module]) -> None:
    """Between files, and between the parts of each package. Imports inside functions count too."""
    edges = {(name, target) for name, tree in trees.items() for target, _ in _imports(tree, trees).values()}
    cycles: set[str] = set()
    for depth in range(max(name.count("/") for name in trees) + 1):
        graphs: defaultdict[str, defaultdict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
        for edge in edges:
            (*package, part), (*other_package, other) = (name.split("/")[: depth + 1] for name in edge)
            if package == other_package and part != other and "__init__.py" not in (part, other):
                graphs["/".join(package)][part].add(other)
        for package, graph in graphs.items():
            try:
                TopologicalSorter(graph).prepare()
            except CycleError as error:
                cycles.add(f"{package}: {' > '.join(error.args[1])}")
    print(f"import cycles      {len(cycles)}", *sorted(cycles), sep="\n  " if cycles else "")


def _imports(tree: ast.Module, trees: Iterable[str]) -> dict[str, Name]:
    """What the local names stand for: a file, and a name in it ("" for the whole file)."""
    imports: dict[str, Name] = {}
    for node in ast.walk(tree):
        if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith("reedbed."):
            continue
        for alias in node.names:
            for module, name in ((f"{node.module}.{alias.name}", ""), (str(node.module), alias.name)):
                path = module.removeprefix("reedbed.").replace(".", "/")
                file = next((file for file in (f"{path}.py", f"{path}/__init__.py") if file in trees), None)
                if file is not None:
                    imports[alias.asname or alias.name] = file, name
                    break
    return imports


# --- Walks


def _print_walks(trees: dict[str, ast.Module]) -> None:
    """The files that docs/architecture.md names on each walk, and whether its calls reach them."""
    text = (ROOT / "docs" / "architecture.md").read_text().partition("## Three walks\n")[2].partition("\n## ")[0]
    definitions = {name: dict(_definitions(tree)) for name, tree in trees.items()}
    imports = {name: _imports(tree, trees) for name, tree in trees.items()}
    for title, (limit, starts) in WALKS.items():
        named = _files_named_in(text.partition(f"**{title}.**")[2].partition("\n\n")[0], trees) - PLUMBING
        names = [(file, name) for file, chosen in starts.items() for name in chosen or definitions[file]]
        reached = {file for file, _ in _reach(names, definitions, imports)}
        print(f"walk               {title}: {len(named)} files to read (limit {limit}), {len(reached)} touched")
        for file in sorted(named - reached):
            print(f"  not reached from the start of the walk: {file}")


def _files_named_in(walk: str, trees: Iterable[str]) -> set[str]:
    """A bare file name stands in the folder of the one before. Of two surfaces ("or"), one is read."""
    files, folder = set[str](), ""
    for name in re.findall(r"`([a-z0-9_/]+\.py)`", re.sub(r" or `[^`]+`", "", walk)):
        folder = name.rpartition("/")[0] or folder
        files.add(f"{folder}/{name.rpartition('/')[2]}")
    if unknown := files - set(trees):
        raise SystemExit(f"docs/architecture.md names files that do not exist: {unknown}")
    return files


def _definitions(tree: ast.Module) -> Iterator[tuple[str, ast.AST]]:
    for node in tree.body:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name, node
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                yield name, node
            case _:
                pass


def _reach(
    starts: Iterable[Name], definitions: dict[str, dict[str, ast.AST]], imports: dict[str, dict[str, Name]]
) -> set[Name]:
    """All names that the code of `starts` uses, and the code of those. Type annotations do not count."""
    reached, pending = set[Name](), list(starts)
    while pending:
        file, name = pending.pop()
        node = definitions[file].get(name)
        if node is None or (file, name) in reached:
            pending += [imports[file][name]] if node is None and name in imports[file] else []
            continue
        reached.add((file, name))
        for used in _code(node):
            match used:
                case ast.Attribute(value=ast.Name(id=base), attr=attribute) if base in imports[file]:
                    target, imported = imports[file][base]
                    pending.append((target, imported or attribute))
                case ast.Name(id=used_name):
                    pending.append((file, used_name))
                case _:
                    pass
    return reached


def _code(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    for field, value in ast.iter_fields(node):
        if field not in ("annotation", "returns"):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from _code(child)


if __name__ == "__main__":
    main()
