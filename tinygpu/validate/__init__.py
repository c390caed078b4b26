"""Validation of what is emitted: the text of a module is read back and proved to do what its programs say.

Comes in: the text of a module, and the program of each of its launchers. Goes out: diagnostics; none where everything agrees.
The one idea: the emitter is not trusted. Nothing of `tinygpu.emit` is imported here; its texts are read as anybody's would be.
"""
