"""``python -m girl`` is ``girl``."""

from girl.cli import main

if __name__ == "__main__":
    main()
