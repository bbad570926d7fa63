"""The metadata of all tables, and the columns that many of them have."""

from sqlalchemy import BigInteger, Boolean, Column, ForeignKey, Index, Integer, MetaData, false, text, true

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)

Id = BigInteger().with_variant(Integer(), "sqlite")


def id_column() -> Column[int]:
    return Column("id", Id, primary_key=True, autoincrement=True)


def owner() -> Column[int]:
    return Column("user_id", Id, ForeignKey("users.id", ondelete="CASCADE"), nullable=False)


def moment(name: str, *, null: bool = False) -> Column[int]:
    return Column(name, BigInteger, nullable=null)


def flag(name: str, *, on: bool = False) -> Column[bool]:
    return Column(name, Boolean, nullable=False, server_default=true() if on else false())


def number(name: str, start: int = 0) -> Column[int]:
    return Column(name, BigInteger, nullable=False, server_default=text(str(start)))


def partial_index(name: str, *columns: str, where: str, on_postgresql: str = "", unique: bool = False) -> Index:
    """An index of the rows that meet a condition, in SQL that both engines understand, or in that of each.

    `postgresql_where=` would import PostgreSQL's dialect into every process. See `add_postgresql_conditions`.
    """
    condition = text(on_postgresql or where)
    return Index(name, *columns, unique=unique, sqlite_where=text(where), info={"postgresql_where": condition})


def add_postgresql_conditions() -> None:
    """Complete the partial indexes for a comparison with a PostgreSQL database."""
    for table in metadata.tables.values():
        for index in table.indexes:
            if "postgresql_where" in index.info:
                index.dialect_options["postgresql"]["where"] = index.info["postgresql_where"]
