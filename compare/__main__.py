"""`python -m compare` is `diptych`."""

from compare.cli import main

if __name__ == "__main__":
    main()
