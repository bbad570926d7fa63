"""Google Reader and Fever APIs for reader apps."""
