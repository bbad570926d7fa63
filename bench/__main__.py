"""Run the benchmarks: all of them, or those that are named.

    python -m bench
    python -m bench parse fetch
    python -m bench --list

A benchmark is a module here with a one-line `DESCRIPTION` and a `main`, plain or async, that calls
`bench.table.record` for each figure.
"""

import argparse
import asyncio
import importlib
import inspect
import pkgutil
import sys
import traceback
from types import ModuleType

import bench
from bench import table
from bench.logs import write_logs_away


def main() -> int:
    benches = _find()
    parser = argparse.ArgumentParser(prog="python -m bench", description="Run the benchmarks.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(benches) or "none yet")
    parser.add_argument("--list", action="store_true", help="only say what there is")
    options = parser.parse_args()
    if unknown := sorted(set(options.names) - set(benches)):
        parser.error(f"there is no benchmark {', '.join(unknown)}; there are {', '.join(benches)}")
    if options.list:
        for name, module in benches.items():
            print(f"{name:<12} {module.DESCRIPTION}")
        return 0
    write_logs_away()
    outcomes = [_run(name, benches[name]) for name in options.names or benches]
    return 0 if all(outcomes) else 1


def _find() -> dict[str, ModuleType]:
    names = sorted(module.name for module in pkgutil.iter_modules(bench.__path__) if module.name != "__main__")
    modules = {name: importlib.import_module(f"bench.{name}") for name in names}
    return {name: module for name, module in modules.items() if hasattr(module, "DESCRIPTION")}


def _run(name: str, module: ModuleType) -> bool:
    """Whether it ran to its end; a benchmark that breaks does not take the others with it."""
    print(f"\n{name}: {module.DESCRIPTION}\n", flush=True)
    try:
        running = module.main()
        if inspect.iscoroutine(running):
            asyncio.run(running)
    except Exception:
        traceback.print_exc()
        return False
    finally:
        if figures := table.take_recorded():
            table.print_table(figures)
    return True


if __name__ == "__main__":
    sys.exit(main())
