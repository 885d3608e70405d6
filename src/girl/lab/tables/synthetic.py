"""Figures and the table of the synthetic experiments."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from girl.lab.markdown import markdown_table
from girl.reporting.figure import COLORS, figure


def draw_synthetic(result: dict[str, Any], folder: Path) -> list[Path]:
    """Draw the three figures of ``girl reproduce synthetic`` into ``folder``; returns the PNG paths."""
    return [
        _dimension(result["dimension_100"], folder / "dimension_100"),
        _information(result["mutual_information"], folder / "mutual_information"),
        _independence(result["independence"], folder / "independence"),
    ]


def _line(axes: Axes, part: dict[str, Any], key: str, label: str, color: str, **style: Any) -> None:
    mean, std = np.array(part[key]["mean"]), np.array(part[key]["std"])
    axes.plot(part["values"], mean, label=label, color=color, **style)
    axes.fill_between(part["values"], mean - std, mean + std, color=color, alpha=0.18, linewidth=0)


def _theory(axes: Axes, part: dict[str, Any], label: str) -> None:
    axes.plot(part["values"], part["theory"], color=COLORS["theory"], linestyle="--", label=label, zorder=3)


def _dimension(part: dict[str, Any], path: Path) -> Path:
    with figure(path, r"100 dimensions: $Y = \sum_i (X_i + \alpha N_i)$", r"$\alpha$", r"$\rho(Y|X)$") as axes:
        _line(axes, part, "paper", "published estimator", COLORS["paper"])
        _line(axes, part, "ours", "girl.rho", COLORS["ours"])
        _theory(axes, part, r"theory, $10\,|\alpha|$")
        axes.legend()
    return path.with_suffix(".png")


def _information(part: dict[str, Any], path: Path) -> Path:
    title = r"Correlated Gaussians: as $\rho$ falls, mutual information grows"
    with figure(path, title, r"correlation $\alpha$", r"$\rho(X_1|X_2)$") as axes:
        _line(axes, part, "paper", "published estimator", COLORS["paper"])
        _line(axes, part, "ours", "girl.rho", COLORS["ours"])
        _theory(axes, part, r"theory, $\sqrt{1-\alpha^2}$")
        information = axes.twinx()
        alpha = np.array(part["values"])
        information.plot(alpha, -0.5 * np.log(1 - alpha**2), color=COLORS["second"], linestyle=":", label="theory, MI")
        information.set_ylabel("mutual information (nats)", color=COLORS["second"])
        information.spines["right"].set_visible(True)
        information.grid(visible=False)
        lines = [*axes.get_lines(), *information.get_lines()]
        axes.legend(lines, [str(line.get_label()) for line in lines], loc="center left")
    return path.with_suffix(".png")


def _independence(part: dict[str, Any], path: Path) -> Path:
    title = "Independent X and Y: the truth is 1, in-sample estimates collapse"
    with figure(path, title, "dimension of X (1,000 samples)", r"estimate of $\rho(Y|X)$") as axes:
        _line(axes, part, "projection", "projection, in-sample (as printed)", COLORS["third"])
        _line(axes, part, "ridge_insample", "ridge, in-sample", COLORS["fourth"])
        _line(axes, part, "paper", "clamp, in-sample (as released)", COLORS["paper"])
        _line(axes, part, "ridge_loo", "ridge, leave-one-out (KRLoss)", COLORS["second"])
        _line(axes, part, "ours", "girl.rho", COLORS["ours"])
        _theory(axes, part, "truth")
        axes.set_xscale("log", base=2)
        axes.set_xticks(part["values"], [str(value) for value in part["values"]])
        axes.minorticks_off()
        axes.set_ylim(-0.05, 1.5)
        axes.legend(fontsize=8.5, ncols=2, loc="upper center")
    return path.with_suffix(".png")


def table_1d(result: dict[str, Any]) -> str:
    """The paper's 1-D table: published, reproduced and ours beside the truth."""
    part = result["table_1d"]
    head = ["", "theory", "published", "published estimator, our run", "`girl.rho`"]
    rows = []
    for index, (name, theory) in enumerate(zip(part["values"], part["theory"], strict=True)):
        cells = [_cell(part[key], index) for key in ("published", "paper", "ours")]
        rows.append([name.replace("rho", "ρ").replace("|", r"\|"), f"{theory:g}", *cells])
    return markdown_table(head, rows)


def table_errors(result: dict[str, Any]) -> str:
    """Mean absolute errors to the oracle of the same draw."""
    names = {
        "table_1d": "1-D table",
        "dimension_100": "100 dimensions",
        "mutual_information": "correlated Gaussians",
        "independence": "independence",
    }
    rows = []
    for key, name in names.items():
        error = result[key]["mean_absolute_error"]
        rows.append([name, f"{error['paper']:.4f}", f"{error['ours']:.4f}", f"{result[key]['ratio_to_paper']:.3f}"])
    return markdown_table(["experiment", "published estimator", "`girl.rho`", "ratio"], rows)


def _cell(part: dict[str, list[float]], index: int) -> str:
    return f"{part['mean'][index]:.3f} ± {part['std'][index]:.3f}"


def render(path: Path, folder: Path) -> dict[str, str]:
    """Two tables, the settings and three figures."""
    result = json.loads(path.read_text(encoding="utf-8"))
    draw_synthetic(result, folder)
    settings = result["settings"]
    return {
        "synthetic_table": table_1d(result),
        "synthetic_errors": table_errors(result),
        "synthetic_settings": f"{settings['draws']} draws of {settings['samples']:,} samples each, seed "
        f"{settings['seed']}, {result['seconds']:.0f} s in all.\n",
    }
