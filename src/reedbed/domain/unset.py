"""`UNSET`: the value for "leave this field unchanged", for fields where None has a meaning."""

from enum import Enum


class Unset(Enum):
    UNSET = "same"


UNSET = Unset.UNSET
