"""``python -m memory_plugin``: the command line."""

from memory_plugin.cli import main

if __name__ == "__main__":
    main()
