"""Several processes that share every batch train_classifier what one learns from it."""

from __future__ import annotations

import pytest
import torch
import torch.distributed as dist
from torch_geometric.data import Data

from girl.errors import InputError
from girl.graph.partition import partition
from girl.graph.union import disjoint_union
from girl.nn.convolutions import CONVS
from girl.nn.encoder import shared_encoders
from girl.training.batch import make_batch
from girl.training.context import Context
from girl.training.distributed import SINGLE_PROCESS, Distributed, connect
from girl.training.labels import Labels
from girl.training.recipe import Recipe
from girl.training.run import pretrain
from girl.training.supervised import SupervisedRecipe
from girl.training.supervised_run import train_classifier
from girl.training.untrained import untrained_method
from tests.helpers.processes import together

GRAPHS, SIZE = 10, 24

#: Nothing that processes draw for themselves.
QUIET = {"dropout": 0.0, "rows": 0, "hidden": 16, "rank": 32, "target_rank": 8}


def graphs() -> list[Data]:
    """Random graphs of a ring and some chords, of different sizes."""
    generator = torch.Generator().manual_seed(1)
    found = []
    for index in range(GRAPHS):
        nodes = SIZE + index % 3
        ring = torch.stack([torch.arange(nodes), (torch.arange(nodes) + 1) % nodes])
        chords = torch.randint(nodes, (2, nodes), generator=generator)
        edges = torch.cat([ring, chords], 1)
        edges = torch.cat([edges, edges.flip(0)], 1)
        found.append(Data(x=torch.randn(nodes, 6, generator=generator), edge_index=edges, num_nodes=nodes))
    return found


class StoppedError(Exception):
    """A run that ended before its time."""


def learned(processes, folder=None, stop=0, **values):
    """What GIRL learns from the set of graphs; interrupted after ``stop`` epochs, if they are any."""
    train = {"epochs": 4, "batch_size": 4, "lr": 1e-2, "save_every": 1}
    recipe = Recipe.encoder_default().with_values({**QUIET, "keep": 0.0, **train, **values})
    whole = make_batch(disjoint_union(graphs()), recipe.encoder)

    def watch(method, history):
        if stop and len(history.epochs) > stop:
            raise StoppedError

    run = pretrain(whole, recipe, Context(distributed=processes, folder=folder), callback=watch)
    return run.history.epochs, torch.cat([p.detach().flatten() for p in run.method.parameters()])


def components(count=8, nodes=24):
    """A graph of as many components, and labels, some of which are known."""
    generator = torch.Generator().manual_seed(2)
    edges = [
        torch.stack([torch.arange(nodes).repeat(4), torch.randint(nodes, (4 * nodes,), generator=generator)])
        + nodes * index
        for index in range(count)
    ]
    y = torch.randint(3, (count * nodes,), generator=generator)
    x = torch.randn(count * nodes, 5, generator=generator) + torch.nn.functional.one_hot(y, 5)
    both = torch.cat(edges, 1)
    data = Data(x=x, edge_index=torch.cat([both, both.flip(0)], 1), num_nodes=count * nodes)
    order = torch.randperm((count - 1) * nodes, generator=generator)  # the last component has no training node
    return data, Labels(y, order[:60].sort().values, order[60:].sort().values, 3)


def taught(processes):
    """What a deep classifier learns, with KR on its layers."""
    data, labels = components()
    settings = {"depth": 4, "hidden": 8, "dropout": 0.0, "rank": 16, "epochs": 3, "clusters": 8, "batch_size": 4}
    recipe = SupervisedRecipe().with_values(settings)
    whole = make_batch(data, Recipe.encoder_default().with_values({"normalize": "none"}).encoder)
    of = (torch.arange(whole.num_nodes) // 24).tolist()
    assert len(set(zip(of, partition(whole.graph, 8, 0).tolist(), strict=True))) == 8  # METIS finds them
    run = train_classifier(whole, labels, recipe, Context(distributed=processes))
    return run.history.epochs, torch.cat([p.detach().flatten() for p in run.model.parameters()]), run.history.scores


def embedded(processes):
    """How far layers that are shared out are from those that a process makes by itself."""
    data, _ = components()
    found = {}
    for conv in CONVS:
        for keep in (0.0, 0.2):
            recipe = Recipe.encoder_default().with_values(
                {**QUIET, "conv": conv, "layers": 2, "hops": 3, "keep": keep, "hidden": 20}
            )
            whole = make_batch(data, recipe.encoder)
            method = untrained_method(5, recipe)
            alone = method.finish(whole)
            again = untrained_method(5, recipe)
            with shared_encoders(again, processes.ranks):
                together = again.finish(whole)
            assert torch.equal(again.embed(whole), alone)  # the same scales, and by itself again
            found[conv, keep] = float((together - alone).abs().max())
    return found


#: Nothing is drawn for these but the frequencies of the kernel.
FIXED = {"targets": ("input", "mean"), "loss_at": "every", "rank": 8}

#: What each process draws for itself.
LOUD = {"dropout": 0.5, "rows": 40, "targets": ("features", "walk")}


def everything(folder):
    """With all four processes; and with two of them, while the others wait."""
    pair, losses = dist.new_group([0, 1]), dist.new_group([0, 1])
    answers = [_everything(Distributed(dist.group.WORLD, dist.new_group()), folder / "4")]
    if dist.get_rank() < 2:
        answers.append(_everything(Distributed(pair, losses), folder / "2"))
    dist.barrier()
    return answers


def _everything(processes, folder):
    found = {"girl": learned(processes), "layers": learned(processes, **FIXED), "classifier": taught(processes)}
    found["at once"] = learned(processes, folder / "a", **LOUD)
    try:
        learned(processes, folder / "b", stop=2, **LOUD)
    except StoppedError:
        found["in two sittings"] = learned(processes, folder / "b", **LOUD)
    found["embedded"] = embedded(processes)
    return found, processes.broadcast_object(lambda: ({"a": torch.arange(3)}, {"b": [1, None]}))


def test_more_processes_learn_the_same(tmp_path, monkeypatch):
    monkeypatch.setenv("GIRL_DATA", str(tmp_path / "cache"))
    alone = {
        "girl": learned(SINGLE_PROCESS),
        "layers": learned(SINGLE_PROCESS, **FIXED),
        "classifier": taught(SINGLE_PROCESS),
    }
    four, two = zip(*together(4, everything, tmp_path, tmp_path)[:2], strict=True)
    for answers in (four, two):
        for found, state in answers:
            for name, (epochs, weights, *scores) in alone.items():
                for mine, theirs in zip(epochs, found[name][0], strict=True):
                    assert theirs == pytest.approx(mine, abs=1e-5), name
                # AdamW divides by the size of a gradient: where that is rounding, a step is a matter of chance.
                assert float((found[name][1] - weights).abs().mean()) < 1e-5, name
                assert not scores or found[name][2] == pytest.approx(scores[0])
            assert max(found["embedded"].values()) < 1e-6
            # The weights are the same on every process, and those of a run that was not interrupted.
            assert torch.equal(found["at once"][1], answers[0][0]["at once"][1])
            assert torch.equal(found["in two sittings"][1], found["at once"][1])
            assert found["in two sittings"][0] == found["at once"][0]
            assert torch.equal(state[0]["a"], torch.arange(3))
            assert state[1] == {"b": [1, None]}
    assert not list((tmp_path / "cache" / "shared").iterdir())  # what was handed over is gone


def test_one_process_needs_no_others(monkeypatch):
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    with connect() as processes:
        assert processes is SINGLE_PROCESS
        assert processes.broadcast(torch.ones(2)).tolist() == [1, 1]
        assert processes.mean({"a": 2.0}) == {"a": 2.0}
        assert processes.broadcast_object(lambda: None) is None
        processes.barrier()


class Two(Distributed):
    """A single process that claims to be one of two."""

    num_processes = property(lambda self: 2, lambda self, value: None)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"clusters": 0}, "clusters: given 0, so the full graph is one batch, with 2 processes"),
        ({"clusters": 4, "batch_size": 1}, "batch_size: given 1 with 2 processes, expected at least 2"),
    ],
)
def test_batches_that_cannot_be_shared_are_refused(values, message):
    data, _ = components()
    recipe = Recipe.encoder_default().with_values({**QUIET, **values})
    with pytest.raises(InputError, match=message):
        pretrain(make_batch(data, recipe.encoder), recipe, Context(distributed=Two()))
