from __future__ import annotations

import http.client
import io
import shutil
import socket
import urllib.request
import zipfile

import pytest

from girl import datasets
from girl.datasets import download
from girl.datasets.registry import find
from girl.errors import InputError


class Response:
    """A server's response that breaks off, or is a web page."""

    def __init__(self, body: bytes, breaks: bool = False, length: int | None = None) -> None:
        self.body, self.breaks = [body, b""], breaks
        self.headers = {} if length is None else {"Content-Length": str(length)}

    def __enter__(self) -> Response:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def read(self, _: int) -> bytes:
        if self.breaks:
            raise http.client.IncompleteRead(b"half", 99)
        return self.body.pop(0)


@pytest.fixture
def respond(monkeypatch):
    """Lets every request get this response."""
    monkeypatch.delenv("GIRL_MIRROR", raising=False)
    return lambda *given: monkeypatch.setattr(urllib.request, "urlopen", lambda *_, **__: Response(*given))


@pytest.mark.parametrize("name", ["photo", "ogbn-arxiv", "reddit"])
def test_without_a_network_the_message_says_what_to_do(name, tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.delenv("GIRL_MIRROR", raising=False)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    entry = find(name)
    with pytest.raises(InputError, match=f"{name}: could not be downloaded .*{entry.folder}.*GIRL_MIRROR") as caught:
        datasets.load(name, tmp_path)
    assert ("make-stand-in" in str(caught.value)) == entry.stand_in
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("breaks", "words"), [(True, "IncompleteRead"), (False, "not a zip file")])
def test_a_dataset_is_loaded_without_splits_that_arrive_damaged(breaks, words, mirror, tmp_path, monkeypatch, respond):
    def copy(entry, root):
        shutil.copytree(mirror / entry.folder, root / entry.folder)

    respond(b"<html>", breaks)
    monkeypatch.setattr(download, "download", copy)
    with pytest.warns(UserWarning, match=f"cora: without its geom-gcn splits .*{words}") as caught:
        dataset = datasets.load("cora", tmp_path)
    assert str(tmp_path) not in str(caught[0].message)  # the scratch folder is gone when the message is read
    assert list(dataset.fixed) == ["public"]
    assert not (tmp_path / "Cora/geom-gcn").exists()


def test_a_short_response_is_an_error(tmp_path, respond):
    respond(b"half", False, 9)
    with pytest.raises(OSError, match="4 of 9 bytes arrived"):
        download.download_splits(find("cora"), tmp_path)


def test_an_archive_of_ogb_is_unpacked_in_its_folder(tmp_path, respond):
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("arxiv/raw/edge.csv.gz", b"data")
    respond(archive.getvalue())
    download.download(find("ogbn-arxiv"), tmp_path)
    files = [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()]
    assert files == ["ogbn_arxiv/raw/edge.csv.gz"]


def test_a_file_without_a_class_comes_from_its_authors(tmp_path, monkeypatch, respond):
    respond(b"data")
    open_url, asked = urllib.request.urlopen, []
    monkeypatch.setattr(urllib.request, "urlopen", lambda url, **more: asked.append(url) or open_url(url, **more))
    download.download(find("squirrel-filtered"), tmp_path)
    assert asked == ["https://github.com/yandex-research/heterophilous-graphs/raw/main/data/squirrel_filtered.npz"]
    assert (tmp_path / "squirrel_filtered/raw/squirrel_filtered.npz").read_bytes() == b"data"


def test_amherst41_is_downloaded_by_its_class_to_its_folder(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(
        "torch_geometric.datasets.linkx_dataset.download_url", lambda *given, **more: asked.append((*given, more))
    )
    download.download(find("amherst41"), tmp_path)
    ((url, folder, more),) = asked
    assert url.endswith("/facebook100/Amherst41.mat")
    assert (folder, more) == (str(tmp_path / "amherst41/raw"), {"filename": "data.mat"})
