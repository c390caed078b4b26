"""Emitted modules brought to life: kept on disk by content, imported, called.

Comes in: the text of a module. Goes out: the module. The one idea: a text is its own key, so nothing is ever stale.
"""
