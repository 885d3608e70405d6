"""``girl.evaluate``: how good a run's embeddings are, beside their baselines."""

from __future__ import annotations

from pathlib import Path

from girl import datasets
from girl.errors import InputError
from girl.evaluation.probe import Kind
from girl.evaluation.scores import Evaluation, evaluate_run
from girl.files import write_json
from girl.training.run import Run, load_run


def evaluate(
    run: Run | Path | str,
    *,
    protocol: str | None = None,
    probe: Kind | None = None,
    splits: int = 10,
    data_root: Path | str | None = None,
    mirror: Path | str | None = None,
) -> Evaluation:
    """Probe a run's embeddings beside raw features, smoothed features and the untrained encoder.

    For each split, a classifier is fitted on the training nodes, its regularisation is chosen on the validation nodes,
    and it is scored once on the test nodes. What ``girl evaluate`` does.

    Args:
        run: a run of :func:`girl.pretrain` on a named dataset, or its folder, where ``scores.json`` is then written.
        protocol: how nodes are split; by default the run's protocol.
        probe: ``"linear"`` (logistic regression), ``"mlp"`` (two layers with ELU, as in the paper) or ``"svm"`` (a
            kernel machine). By default linear; for sets of graphs svm, as is usual.
        splits: at most this many splits.
        data_root: where datasets are cached.
        mirror: a folder of raw files to copy from instead of downloading.

    Returns:
        The scores. ``print(evaluation)`` shows them as a table; ``evaluation.rows`` has them one by one.

    >>> from girl import pretrain
    >>> run = pretrain("digits", "default", hidden=8, epochs=2)
    >>> evaluate(run, splits=1).rows[0].representation
    'raw'
    """
    folder = None if isinstance(run, Run) else Path(run)
    loaded = run if isinstance(run, Run) else load_run(Path(run))
    if "dataset" not in loaded.config:
        raise InputError(
            f"{folder or 'run'}: its graph is not a named dataset, expected a run of `girl pretrain` on one"
        )
    dataset = datasets.load(loaded.config["dataset"], data_root, mirror)
    evaluation = evaluate_run(loaded, dataset, protocol=protocol, probe=probe, splits=splits)
    if folder is not None:
        write_json(folder / "scores.json", evaluation.to_dict())
    return evaluation
