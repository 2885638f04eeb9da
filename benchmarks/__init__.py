"""Measures what the memory promises, side by side with what it is compared to."""
