"""Text to tree and back. Comes in: the text of a `.tgpu` file; goes out: a `tree.File`, or diagnostics TG0xx.

The grammar is `grammar/tgpu.lark`; Lark makes its tables once (`tables`), and reading a file needs only those.
The one idea: everything that distinguishes one text from another is in the grammar file, and nowhere else.
"""
