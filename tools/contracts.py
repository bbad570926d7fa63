"""An import contract of our own: some packages may use nothing but the standard library."""

import sys
from typing import cast

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output


class PlainPythonContract(Contract):
    """Keeps `modules` to the standard library, to each other, and away from what is `forbidden` of it."""

    type_name = "plain_python"

    modules = fields.ListField(subfield=fields.StringField())
    forbidden = fields.ListField(subfield=fields.StringField(), required=False)

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        packages = cast(list[str], self.modules)
        allowed = sys.stdlib_module_names - set(cast(list[str] | None, self.forbidden) or ())
        strangers = sorted(
            (importer, imported)
            for package in packages
            for importer in {package, *graph.find_descendants(package)}
            for imported in graph.find_modules_directly_imported_by(importer)
            if imported.split(".")[0] not in allowed and not _within(imported, packages)
        )
        return ContractCheck(kept=not strangers, metadata={"strangers": strangers})

    def render_broken_contract(self, check: ContractCheck) -> None:
        for importer, imported in check.metadata["strangers"]:
            output.print_error(f"{importer} is not allowed to import {imported}", bold=True)
        output.new_line()


def _within(module: str, packages: list[str]) -> bool:
    return any(module == package or module.startswith(package + ".") for package in packages)
