"""`python -m tinygpu`: the command line.

Comes in: the arguments of the process. Goes out: its exit code. The one idea: the same as the `tinygpu` command.
"""

from tinygpu.cli import console

if __name__ == "__main__":
    console()
