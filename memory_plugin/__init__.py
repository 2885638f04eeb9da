"""A memory that lasts for Python bots."""
