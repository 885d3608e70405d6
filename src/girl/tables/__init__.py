"""A user's files and frames as a graph with features, and embeddings as files. Other rooms import from here only.

What happens for ``girl embed edges.csv --nodes nodes.csv``; each step uses only the modules of the steps before:

1. :mod:`~girl.tables.sources` opens every file or frame as a :class:`~girl.tables.table.Table`, with
   :mod:`~girl.tables.graph_files` (graphs), :mod:`~girl.tables.table_files` (Parquet, JSON) and
   :mod:`~girl.tables.text` (CSV). Columns are read when they are needed, and converted by :mod:`~girl.tables.cells`.
2. :mod:`~girl.tables.edges` selects the edges: ids of both ends, weights, times.
3. :mod:`~girl.tables.node_table` joins the node tables and gives every id its position.
4. :mod:`~girl.tables.table_encoder` turns the columns into features, with :mod:`~girl.tables.column_encoders`.
5. :mod:`~girl.tables.user_graph` puts them together as a :class:`~girl.tables.user_graph.UserGraph`.
6. For a set of graphs, :mod:`~girl.tables.graph_set` does 1 to 5 for all graphs together, then assigns every node to
   its graph with :mod:`~girl.tables.graph_membership`.
"""

from girl.tables.embeddings import check_output, embedding_table, read_embeddings, write_embeddings
from girl.tables.export import export_graph
from girl.tables.graph_files import networkx_tables
from girl.tables.graph_set import read_graph_set
from girl.tables.matrix import read_matrix
from girl.tables.settings import InputSettings
from girl.tables.sources import Source
from girl.tables.table_encoder import TableEncoder
from girl.tables.user_graph import UserGraph, read_graph

__all__ = [
    "InputSettings",
    "Source",
    "TableEncoder",
    "UserGraph",
    "check_output",
    "embedding_table",
    "export_graph",
    "networkx_tables",
    "read_embeddings",
    "read_graph",
    "read_graph_set",
    "read_matrix",
    "write_embeddings",
]
