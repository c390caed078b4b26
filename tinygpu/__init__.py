"""tinygpu: a language for tiny, operation-specific GPU machines, each proved for all sizes, then built for CUDA and the CPU.

Comes in: a spec. Goes out: a proof, and a launcher to call: `load(path)`, `check(machine)`, `build(proof)`; a picture: `draw(machine)`.
The one idea: nothing heavy is imported before it is asked for, so a command starts at once.
"""

from __future__ import annotations

from typing import Any

__all__ = ["build", "check", "draw", "load"]


def __getattr__(name: str) -> Any:
    if name == "draw":
        from tinygpu.pictures import draw

        return draw
    if name == "load":
        from tinygpu import pipeline

        return pipeline.load
    if name in __all__:
        from tinygpu import whole

        return getattr(whole, name)
    if name == "__version__":
        return _version()
    raise AttributeError(f"module 'tinygpu' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


def _version() -> str:
    """The version that is installed, which git gave it; of a checkout that nobody installed none is known."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("tinygpu")
    except PackageNotFoundError:
        return "0+unknown"
