"""What the layers of a module put out while it runs, collected by hooks."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle
from torch_geometric.nn import MessagePassing

from girl.nn.convolutions import Convolution


def message_passing(model: nn.Module) -> dict[str, nn.Module]:
    """The message-passing layers of a module by their names, outermost only: a layer's own parts are its affair."""
    found: dict[str, nn.Module] = {}
    for name, module in model.named_modules():
        inner = any(name.startswith(f"{outer}.") or not outer for outer in found)
        if isinstance(module, MessagePassing | Convolution) and not inner:
            found[name] = module
    return found


def named_layers(model: nn.Module, layers: Sequence[str | nn.Module]) -> dict[str, nn.Module]:
    """Layers of a module that are given by name or as themselves, in the order given."""
    names = dict(model.named_modules())
    found: dict[str, nn.Module] = {}
    for layer in layers:
        if isinstance(layer, nn.Module):
            name = next((name for name, module in names.items() if module is layer), None)
            if name is None:
                raise ValueError(f"layers: given a {type(layer).__name__} that is no part of the model")
            found[name] = layer
        elif layer in names:
            found[layer] = names[layer]
        else:
            known = ", ".join(map(repr, message_passing(model))) or "none"
            raise ValueError(f"layers: the model has no part {layer!r}; its message-passing layers: {known}")
    return found


class LayerOutputs:
    """Outputs of some layers of a module in its latest run; nothing of the run before is kept.

    Hooks go when :meth:`remove` is called or this object is forgotten. Copies and pickles of the module have hooks that
    do nothing.

    Args:
        model: the module.
        layers: those of its parts that are watched, by name.
        always: also when no gradients are recorded, as in an evaluation.
    """

    def __init__(self, model: nn.Module, layers: dict[str, nn.Module], *, always: bool = False) -> None:
        self.names = list(layers)
        self.always = always
        self._seen: dict[str, list[Tensor]] = {}
        self._running = False
        self._rooted = False  # whether the module was ever run as a whole, not by its parts
        here = weakref.ref(self)  # the module must not keep this object alive
        handles = [
            model.register_forward_pre_hook(_Hook(lambda *_: _call(here, LayerOutputs._begin))),
            model.register_forward_hook(_Hook(lambda *_: _call(here, LayerOutputs._end)), always_call=True),
        ]
        for name, layer in layers.items():
            if layer is not model:
                handles.append(layer.register_forward_hook(_Hook(_keeper(here, name))))
            else:  # before the end of the run is noted
                handles.insert(1, layer.register_forward_hook(_Hook(_keeper(here, name)), prepend=True))
        self._finalizer = weakref.finalize(self, _remove, handles)

    def _begin(self) -> None:
        self._seen, self._running, self._rooted = {}, True, True

    def _end(self) -> None:
        self._running = False

    def _keep(self, name: str, output: Any) -> None:
        if not (self.always or torch.is_grad_enabled()):
            return
        tensor = output[0] if isinstance(output, tuple | list) and output else output
        if not isinstance(tensor, Tensor):
            raise TypeError(f"layer {name!r}: puts out a {type(tensor).__name__}, expected a tensor")
        if self._running:
            self._seen.setdefault(name, []).append(tensor)  # a layer may be run several times
        elif not self._rooted:  # run by its parts, model.encode(x) say; what a checkpoint computes again is not kept
            self._seen[name] = [tensor]

    def take(self) -> dict[str, list[Tensor]]:
        """The outputs of the latest run by layer, in the layers' order; they are not kept here any longer."""
        seen, self._seen = self._seen, {}
        return {name: seen[name] for name in self.names if name in seen}

    def remove(self) -> None:
        """Take the hooks away."""
        self._finalizer()
        self._seen = {}


class _Hook:
    """A hook that is not copied with its module: a copy of the module is another module, and nobody watches it."""

    def __init__(self, call: Callable[..., None] | None) -> None:
        self.call = call

    def __call__(self, *arguments: Any) -> None:
        if self.call is not None:
            self.call(*arguments)

    def __deepcopy__(self, memo: dict[int, Any]) -> _Hook:
        return _Hook(None)

    def __reduce__(self) -> tuple[type[_Hook], tuple[None]]:
        return _Hook, (None,)


def _call(here: weakref.ref[LayerOutputs], method: Callable[[LayerOutputs], None]) -> None:
    if (outputs := here()) is not None:
        method(outputs)


def _keeper(here: weakref.ref[LayerOutputs], name: str) -> Callable[..., None]:
    def keep(module: nn.Module, given: Any, output: Any) -> None:
        if (outputs := here()) is not None:
            outputs._keep(name, output)

    return keep


def _remove(handles: list[RemovableHandle]) -> None:
    for handle in handles:
        handle.remove()
