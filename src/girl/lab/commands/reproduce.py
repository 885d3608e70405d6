"""`girl reproduce NAME`: a command for each experiment of the registry, with the experiment's fields as its options."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, get_type_hints

from cyclopts import App, Parameter

from girl.cli.app import OUT, RUN, console
from girl.lab.experiment import Experiment
from girl.lab.registry import EXPERIMENTS

reproduce = App(name="reproduce", help="Run the experiments again: numbers as JSON, figures as SVG and PNG.")


def _command(default: Experiment) -> Callable[..., None]:
    kind: Any = type(default)
    # cyclopts would look up the types of inherited fields in the module of the subclass, which does not import them.
    kind.__init__.__annotations__ |= get_type_hints(kind, include_extras=True)
    options = Annotated[kind, Parameter(name="*")]

    def run(
        experiment: Any = default,
        *,
        out: Annotated[Path, Parameter(group=OUT)] = Path("results"),
        jobs: Annotated[int, Parameter(group=RUN)] = default.default_jobs,
    ) -> None:
        """Run it.

        Args:
            experiment: its options.
            out: folder for the results.
            jobs: processes, one core each; -1 for one on each core. The numbers do not depend on it.
        """
        experiment.run(out, jobs, console)

    run.__annotations__["experiment"] = options
    return run


for _experiment in EXPERIMENTS:
    reproduce.command(_command(_experiment), name=_experiment.name, help=type(_experiment).__doc__)
