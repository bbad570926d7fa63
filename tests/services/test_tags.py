"""Tags of one user, changed from several places at once."""

import asyncio

from reedbed.domain.errors import Conflict
from reedbed.services.entries import create_tag, list_tags, rename_tag
from tests.harness import RuntimeHarness


async def test_of_many_who_want_one_name_at_once_one_gets_it_and_the_others_are_told(harness: RuntimeHarness) -> None:
    user = await harness.person()
    made = [await create_tag(harness.runtime, user, f"tag {number}") for number in range(8)]
    wishes = [rename_tag(harness.runtime, user, tag.id, "wanted") for tag in made]
    outcomes = await asyncio.gather(*wishes, create_tag(harness.runtime, user, "wanted"), return_exceptions=True)
    refused = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
    assert len(refused) == 8
    assert all(isinstance(error, Conflict) for error in refused)
    assert [tag.name for tag in await list_tags(harness.runtime, user)].count("wanted") == 1


async def test_the_name_it_has_already_is_no_conflict(harness: RuntimeHarness) -> None:
    user = await harness.person()
    tag = await create_tag(harness.runtime, user, "same")
    assert (await rename_tag(harness.runtime, user, tag.id, "same")).name == "same"
