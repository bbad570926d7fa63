"""Nothing has to be indexed again in a database without entries.

A new one would read all entries of its first minutes again, for categories and for word forms.
"""

from alembic import op

revision = "0037"
down_revision = "0036"


def upgrade() -> None:
    for key in ("categories_below", "word_forms_below"):
        op.execute(
            f"INSERT INTO app_settings (key, value, updated_at) SELECT '{key}', '0', 0 "  # noqa: S608  names of ours
            f"WHERE NOT EXISTS (SELECT 1 FROM entries) AND NOT EXISTS (SELECT 1 FROM app_settings WHERE key = '{key}')"
        )
