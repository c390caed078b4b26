"""One file for each command of `tinygpu`: its arguments, and what it does.

Comes in: parsed arguments. Goes out: an exit code (0 proved or done, 1 refuted, 2 bad input or usage, 3 unknown) and text.
The one idea: a command imports what it needs when it runs, so that `--help` and `check` start at once.
"""
