"""Pictures that explain a machine: who has which element, banks, fragments, the order of a pipeline, a roofline, a counterexample.

    program × sizes  ─evaluate its own terms→  numbers  ─→  rectangles and words

Comes in: what is loaded, a machine, a verdict. Goes out: a `Picture` with its SVG. The one idea: a picture knows nothing. Owner maps, layouts, places and faults are those of the
program that is proved, counted and simulated, so what is drawn is true of it.
"""

from __future__ import annotations

from tinygpu.pictures.drawn import KINDS as KINDS
from tinygpu.pictures.drawn import draw as draw
from tinygpu.pictures.notebook import html as html
from tinygpu.pictures.paper import Picture as Picture
