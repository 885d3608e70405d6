"""Self-supervised methods, one file each, and what it takes to write another.

Subclass :class:`EncoderMethod`, write its ``losses``, and :func:`register` a :class:`MethodEntry`; then the method can
be trained and evaluated by its name, as those in :func:`names`.
"""

from girl.graph.batch import Batch
from girl.methods.base import Method
from girl.methods.encoder_method import EncoderMethod
from girl.methods.registry import MethodEntry, names, register
from girl.nn.encoder import EncoderSettings

__all__ = ["Batch", "EncoderMethod", "EncoderSettings", "Method", "MethodEntry", "names", "register"]
