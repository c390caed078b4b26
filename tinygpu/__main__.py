"""`python -m tinygpu`: the command line.

Comes in: the arguments of the process. Goes out: its exit code. The one idea: the same as the `tinygpu` command.
"""

import sys

from tinygpu.cli import main

if __name__ == "__main__":
    sys.exit(main())
