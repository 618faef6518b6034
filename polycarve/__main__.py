"""``python -m polycarve``."""

from polycarve.cli import main

if __name__ == "__main__":
    main(prog_name="polycarve")
