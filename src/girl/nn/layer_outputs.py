"""The outputs of a module's layers, collected by hooks while it runs."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle
from torch_geometric.nn import MessagePassing

from girl.nn.convolutions import Convolution


def message_passing_layers(model: nn.Module) -> dict[str, nn.Module]:
    """The message-passing layers of a module by name; layers inside another layer are not listed."""
    layers: dict[str, nn.Module] = {}
    for name, module in model.named_modules():
        inner = any(name.startswith(f"{outer}.") or not outer for outer in layers)
        if isinstance(module, MessagePassing | Convolution) and not inner:
            layers[name] = module
    return layers


def named_layers(model: nn.Module, layers: Sequence[str | nn.Module]) -> dict[str, nn.Module]:
    """Layers of a module, given by name or as modules, in the order given."""
    modules = dict(model.named_modules())
    selected: dict[str, nn.Module] = {}
    for layer in layers:
        if isinstance(layer, nn.Module):
            name = next((name for name, module in modules.items() if module is layer), None)
            if name is None:
                raise ValueError(f"layers: given a {type(layer).__name__} that is no part of the model")
            selected[name] = layer
        elif layer in modules:
            selected[layer] = modules[layer]
        else:
            names = ", ".join(map(repr, message_passing_layers(model))) or "none"
            raise ValueError(f"layers: the model has no part {layer!r}; its message-passing layers: {names}")
    return selected


class LayerOutputs:
    """The outputs of some layers in the module's latest run; those of earlier runs are dropped.

    The hooks are removed by :meth:`remove`, or when this object is garbage-collected. In copies and pickles of the
    module they do nothing.

    Args:
        model: the module.
        layers: the watched layers by name.
        always: collect also without gradients, as in an evaluation.
    """

    def __init__(self, model: nn.Module, layers: dict[str, nn.Module], *, always: bool = False) -> None:
        self.names = list(layers)
        self.always = always
        self._outputs: dict[str, list[Tensor]] = {}
        self._running = False
        self._called = False  # whether the module itself was ever called, not only its parts
        this = weakref.ref(self)  # the module must not keep this object alive
        handles = [
            model.register_forward_pre_hook(_Hook(_weak_call(this, LayerOutputs._begin))),
            model.register_forward_hook(_Hook(_weak_call(this, LayerOutputs._end)), always_call=True),
        ]
        for name, layer in layers.items():
            hook = _Hook(_weak_call(this, LayerOutputs._collect, name))
            if layer is not model:
                handles.append(layer.register_forward_hook(hook))
            else:  # must be called before _end
                handles.insert(1, layer.register_forward_hook(hook, prepend=True))
        self._finalizer = weakref.finalize(self, _remove, handles)

    def _begin(self, *arguments: Any) -> None:
        self._outputs, self._running, self._called = {}, True, True

    def _end(self, *arguments: Any) -> None:
        self._running = False

    def _collect(self, name: str, module: nn.Module, inputs: Any, output: Any) -> None:
        if not (self.always or torch.is_grad_enabled()):
            return
        tensor = output[0] if isinstance(output, tuple | list) and output else output
        if not isinstance(tensor, Tensor):
            raise TypeError(f"layer {name!r}: puts out a {type(tensor).__name__}, expected a tensor")
        if self._running:
            self._outputs.setdefault(name, []).append(tensor)  # a layer may run several times
        elif not self._called:  # run by its parts, such as model.encode(x); recomputation in a checkpoint is ignored
            self._outputs[name] = [tensor]

    def take(self) -> dict[str, list[Tensor]]:
        """The outputs of the latest run by layer, in the layers' order. They are handed over, not kept."""
        outputs, self._outputs = self._outputs, {}
        return {name: outputs[name] for name in self.names if name in outputs}

    def remove(self) -> None:
        """Remove the hooks."""
        self._finalizer()
        self._outputs = {}


class _Hook:
    """A hook that does nothing in a copy of its module: the copy is another module, which is not watched."""

    def __init__(self, call: Callable[..., None] | None) -> None:
        self.call = call

    def __call__(self, *arguments: Any) -> None:
        if self.call is not None:
            self.call(*arguments)

    def __deepcopy__(self, memo: dict[int, Any]) -> _Hook:
        return _Hook(None)

    def __reduce__(self) -> tuple[type[_Hook], tuple[None]]:
        return _Hook, (None,)


def _weak_call(this: weakref.ref[LayerOutputs], method: Callable[..., None], *first: Any) -> Callable[..., None]:
    """Calls a method of ``this``, if it still exists."""

    def call(*arguments: Any) -> None:
        if (outputs := this()) is not None:
            method(outputs, *first, *arguments)

    return call


def _remove(handles: list[RemovableHandle]) -> None:
    for handle in handles:
        handle.remove()
