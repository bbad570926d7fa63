"""A change that leaves a field as it is, where None already means something."""

from enum import Enum


class Same(Enum):
    SAME = "same"


SAME = Same.SAME
