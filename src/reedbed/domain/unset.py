"""A change that leaves a field as it is, where None already means something."""

from enum import Enum


class Unset(Enum):
    UNSET = "same"


UNSET = Unset.UNSET
