"""`exactformer`, and `python -m exactformer`."""

import sys


def run() -> None:
    """Interrupted while modules are still read, it ends as quietly as later on."""
    try:
        from exactformer.cli import main
    except KeyboardInterrupt:
        sys.stderr.write("exactformer: interrupted\n")
        sys.exit(130)
    main()


if __name__ == "__main__":
    run()
