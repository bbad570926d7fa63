"""`select` and `func` of SQLAlchemy, without its types of rows.

A statement of ours goes to the driver as text (`store/statements.py`) and its rows come back plain, so what
SQLAlchemy works out about their types reaches nobody; working it out took an eighth of `make check`.
"""

from typing import Any

import sqlalchemy

select: Any = sqlalchemy.select
func: Any = sqlalchemy.func
