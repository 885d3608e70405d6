"""The demo: GIRL on a nearest-neighbour graph of handwritten digits, from images to embeddings and a report."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from girl import datasets, splits
from girl.api.report import report as write_run_report
from girl.console import phase
from girl.evaluation.baselines import BASELINES, raw
from girl.evaluation.scores import Row, score_splits
from girl.files import write_json
from girl.reporting.map_figure import draw_maps
from girl.threads import one_thread
from girl.training.batch import make_batch
from girl.training.context import Context
from girl.training.recipe import Recipe
from girl.training.run import pretrain
from girl.training.run_folder import save_embedding
from girl.training.untrained import embed_untrained

PROTOCOL = "random-10-10-80"
SPLITS = 10

RECIPE = Recipe()


@dataclass(frozen=True)
class Demo:
    """Scores and files of the demo."""

    rows: list[Row]
    embeddings: Path
    picture: Path
    report: Path


@one_thread()
def run_demo(out: Path, console: Console) -> Demo:
    """Embed the graph of digits, probe raw, untrained and trained embeddings, and draw them. One thread is enough.

    Writes the run, ``embeddings.npy``, ``scores.json``, ``digits.png`` (and .svg) and ``report.html`` to ``out``.
    """
    dataset = datasets.load("digits")
    batch = make_batch(dataset.data, RECIPE.encoder)
    edges = dataset.data.edge_index.shape[1]
    console.print(
        f"digits: {batch.num_nodes:,} images, each joined to its ten nearest ({edges:,} edges)", highlight=False
    )
    config = {"dataset": "digits", "protocol": PROTOCOL, "split": 0}
    # Always from the start: training takes seconds, and a run of an older version could not be resumed.
    run = pretrain(batch, RECIPE, Context(folder=out, resume="never", console=console), config)
    assert run.vectors is not None
    untrained = embed_untrained(batch, RECIPE)
    maps = {"raw pixels": raw(dataset.data), "untrained encoder": untrained, "GIRL": run.vectors}
    rule = splits.get(PROTOCOL)
    compared = {"raw pixels": maps["raw pixels"], "smoothed pixels": BASELINES["ppr"](dataset.data), **maps}
    rows = [score_splits(name, h, dataset, rule, range(SPLITS)) for name, h in compared.items()]
    write_json(out / "scores.json", {"dataset": "digits", "rows": [row.to_dict() for row in rows]})
    embeddings = out / "embeddings.npy"
    save_embedding(embeddings, run.vectors)
    picture = draw_maps(out / "digits", maps, dataset.data.y, "Handwritten digits, seen without labels")
    with phase(console, "report"):
        report = write_run_report(out)
    return Demo(rows, embeddings, picture, report)
