"""Published numbers, as printed: those of Fishman et al. (ICML 2023), and of the methods it is compared with.

``self_supervised``, ``depth`` and ``synthetic_1d`` are the tables of Fishman et al.; ``protocols`` are the protocols of
the numbers that they take from other papers, where known; ``methods`` are what those papers report; ``highest`` are the
highest accuracies of frozen embeddings that were found in public under each dataset's low-label protocol, in percent.
"""

from __future__ import annotations

import csv
from importlib.resources import files

#: The paper's names of datasets and methods, by ours.
DATASETS = {
    "cora": "Cora",
    "citeseer": "CiteSeer",
    "pubmed": "PubMed",
    "dblp": "DBLP",
    "photo": "Amazon-Photos",
    "computers": "Amazon-Computers",
    "cs": "Coauthor-CS",
    "physics": "Coauthor-Physics",
    "texas": "Texas",
    "actor": "Actor",
    "usa-airports": "USA-Airports",
    "nci1": "NCI1",
    "proteins": "PROTEINS",
    "dd": "DD",
    "mutag": "MUTAG",
}
METHODS = {
    "dgi": "DGI",
    "grace": "GRACE",
    "bgrl": "BGRL",
    "bgcl": "BGCL",
    "graphmae": "GraphMAE",
    "selene": "SELENE",
    "infograph": "InfoGraph",
    "graphcl": "GraphCL",
    "joao": "JOAO",
    "joaov2": "JOAOv2",
    "simgrace": "SimGRACE",
    "girl": "GIRL",
}


def table(name: str) -> list[dict[str, str]]:
    """The rows of a published table, such as ``synthetic_1d``."""
    text = files(__name__).joinpath(f"{name}.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))
