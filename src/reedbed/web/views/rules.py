"""What the page of rules shows."""

from collections.abc import Mapping
from dataclasses import field

from reedbed.domain.records import record
from reedbed.web.views.layout import SelectOption, TimeView


@record
class RuleView:
    id: int
    name: str
    when: str
    does: str
    enabled: bool
    hits: str


@record
class DryRunHit:
    url: str
    title: str
    source: str
    when: TimeView
    language: str = ""


@record
class DryRunView:
    summary: str
    hits: tuple[DryRunHit, ...]


@record
class ConditionView:
    fields: tuple[SelectOption, ...]
    operators: tuple[SelectOption, ...]
    value: str = ""


@record
class RuleForm:
    id: int | None = None
    name: str = ""
    joins: tuple[SelectOption, ...] = ()
    conditions: tuple[ConditionView, ...] = ()
    """Includes empty rows to fill in; rows left empty are ignored."""
    actions: tuple[SelectOption, ...] = ()
    shares: frozenset[str] = frozenset()
    """The actions that send to services; the page adds the user's services to `actions`."""
    tag: str = ""
    webhook: str = ""
    errors: Mapping[str, str] = field(default_factory=dict[str, str])


@record
class RulesPage:
    rules: tuple[RuleView, ...]
    form: RuleForm
    dry_run: DryRunView | None = None
