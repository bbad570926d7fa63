"""The vocabulary of all texts: which words are forms of one another, by language."""

from collections.abc import Iterable, Sequence

from sqlalchemy import BigInteger, Text, bindparam

from reedbed.domain.search.forms import WordForm
from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import Command, Query, among, func, insert, select
from reedbed.store.tables import word_forms

_ADD = Command(
    insert(word_forms)
    .values(stem=bindparam("stem"), language=bindparam("language"), word=bindparam("word"))
    .on_conflict_do_nothing()
)
_OF_STEMS = Query(
    select(word_forms.c.language, word_forms.c.stem, word_forms.c.word).where(
        among(word_forms.c.stem, "stems", Text())
    ),
    into=WordForm,
)
_ALIKE = Query(
    select(word_forms.c.word)
    .where(
        word_forms.c.stem >= bindparam("first"),
        word_forms.c.stem < bindparam("last"),
        func.length(word_forms.c.word) >= bindparam("shortest", type_=BigInteger),
        func.length(word_forms.c.word) <= bindparam("longest", type_=BigInteger),
    )
    .limit(bindparam("limit", type_=BigInteger)),
    into=str,
)


async def add(tx: Tx, forms: Iterable[WordForm]) -> None:
    """Add words to the vocabulary; those that are there stay. In one order, so that writers never wait in a circle."""
    rows = sorted((form.stem, form.language, form.word) for form in forms)
    if rows:
        await tx.run_many(_ADD, [{"stem": stem, "language": language, "word": word} for stem, language, word in rows])


async def of_stems(tx: Tx, stems: Sequence[str]) -> list[WordForm]:
    return await tx.all(_OF_STEMS, {"stems": list(stems)})


async def beginning_with(tx: Tx, prefix: str, *, shortest: int, longest: int, limit: int) -> list[str]:
    """Words of this length whose stem begins with this prefix."""
    params = {"first": prefix, "last": f"{prefix}\U0010ffff", "shortest": shortest, "longest": longest, "limit": limit}
    return await tx.all(_ALIKE, params)
