import asyncio
import hashlib
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from memory_plugin.embedding import Pin, PinnedFile, fetch_model, open_embedder
from memory_plugin.embedding.download import PINNED, TRIES
from memory_plugin.embedding.sources import FETCHED, download_folder
from memory_plugin.errors import EmbedderError

BIG = bytes(range(256)) * 2000


class Site:
    """A web site on this machine that can be as ill as real ones are."""

    def __init__(self):
        self.files = {}
        self.asked = []  # (path, range) of each request
        self.status = None  # answer everything with this
        self.refusals = []  # answer the next requests with these
        self.ranges = True
        self.cut_after = []  # for the next requests: hang up after so many bytes
        self.held = None  # an event to wait for after the first block
        self.started = threading.Event()
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                site.answer(self)

            def log_message(self, *args):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        self.thread.start()

    def answer(self, request):
        begin = request.headers.get("Range")
        self.asked.append((request.path, begin))
        content = self.files.get(request.path.lstrip("/"))
        start = int(begin.removeprefix("bytes=").rstrip("-")) if begin and self.ranges else 0
        status = self.refusals.pop(0) if self.refusals else self.status
        if status or content is None:
            request.send_error(status or 404)
            return
        if start and start >= len(content):
            request.send_error(416)
            return
        request.send_response(206 if start else 200)
        request.send_header("Content-Length", str(len(content) - start))
        request.end_headers()
        most = self.cut_after.pop(0) if self.cut_after else len(content)
        body = content[start : start + most]
        request.wfile.write(body[:1000])
        self.started.set()
        if self.held is not None:
            self.held.wait(10)
        try:
            request.wfile.write(body[1000:])
        except OSError:
            return
        request.close_connection = True

    def pin(self, **files):
        """A pin of these contents, which the site offers too."""
        self.files |= files
        return Pin(
            base_url=self.url,
            files=tuple(
                PinnedFile(
                    path=name,
                    name=name,
                    sha256=hashlib.sha256(content).hexdigest(),
                    size=len(content),
                )
                for name, content in files.items()
            ),
        )

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


@pytest.fixture
def site(monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    made = Site()
    yield made
    made.close()


def test_files_arrive_whole_and_progress_only_grows(site, tmp_path):
    seen = []
    pin = site.pin(big=BIG, small=b"small")

    folder = fetch_model(tmp_path, pin, lambda done, total: seen.append((done, total)))

    assert folder == download_folder(tmp_path)
    assert (folder / "big").read_bytes() == BIG
    assert (folder / "small").read_bytes() == b"small"
    assert seen == sorted(seen)
    assert seen[-1] == (len(BIG) + 5, len(BIG) + 5)
    assert sorted(path.name for path in folder.iterdir()) == ["big", FETCHED, "small"]


def test_what_is_there_and_whole_is_not_fetched_again(site, tmp_path):
    pin = site.pin(big=BIG, small=b"small")
    folder = fetch_model(tmp_path, pin)
    site.asked.clear()
    (folder / "small").write_bytes(b"hurt")

    fetch_model(tmp_path, pin)

    assert [path for path, _ in site.asked] == ["/small"]
    assert (folder / "small").read_bytes() == b"small"


def test_a_transfer_that_breaks_goes_on_where_it_stopped(site, tmp_path):
    pin = site.pin(big=BIG)
    site.cut_after = [200_000]

    folder = fetch_model(tmp_path, pin)

    assert (folder / "big").read_bytes() == BIG
    assert [begin for _, begin in site.asked] == [None, "bytes=200000-"]


def test_a_transfer_that_was_given_up_goes_on_in_the_next_call(site, tmp_path):
    pin = site.pin(big=BIG)
    site.cut_after = [100_000] * TRIES
    with pytest.raises(EmbedderError, match="ended after 300000 of 512000 bytes"):
        fetch_model(tmp_path, pin)
    site.asked.clear()

    folder = fetch_model(tmp_path, pin)

    assert (folder / "big").read_bytes() == BIG
    assert [begin for _, begin in site.asked] == ["bytes=300000-"]


def test_a_site_that_cannot_go_on_starts_anew(site, tmp_path):
    pin = site.pin(big=BIG)
    site.cut_after = [200_000]
    site.ranges = False

    assert (fetch_model(tmp_path, pin) / "big").read_bytes() == BIG


def test_other_content_than_pinned_is_never_kept(site, tmp_path):
    pin = site.pin(big=BIG)
    site.files["big"] = BIG[::-1]

    with pytest.raises(EmbedderError, match="sha256"):
        fetch_model(tmp_path, pin)

    assert list(download_folder(tmp_path).iterdir()) == []


def test_a_longer_file_than_pinned_is_not_read_to_its_end(site, tmp_path):
    pin = site.pin(big=BIG)
    site.files["big"] = BIG * 4

    with pytest.raises(EmbedderError, match="longer than 512000 bytes"):
        fetch_model(tmp_path, pin)

    assert not (download_folder(tmp_path) / "big").exists()


def test_what_was_begun_from_other_content_comes_right_in_the_end(site, tmp_path):
    pin = site.pin(big=BIG)
    site.files["big"] = BIG[::-1]
    site.cut_after = [100_000] * TRIES
    with pytest.raises(EmbedderError):
        fetch_model(tmp_path, pin)

    site.files["big"] = BIG

    assert (fetch_model(tmp_path, pin) / "big").read_bytes() == BIG


def test_a_beginning_longer_than_the_file_is_dropped(site, tmp_path):
    pin = site.pin(big=BIG)
    site.files["big"] = BIG[:50_000]
    folder = download_folder(tmp_path)
    folder.mkdir(parents=True)
    (folder / "big.part").write_bytes(BIG[:60_000])

    with pytest.raises(EmbedderError, match="cannot download"):
        fetch_model(tmp_path, pin)

    assert site.asked[:2] == [("/big", "bytes=60000-"), ("/big", None)]


@pytest.mark.parametrize(("status", "asked"), [(404, 1), (403, 1), (503, TRIES)])
def test_a_refusal_names_the_address_and_is_repeated_only_if_it_may_pass(
    site, tmp_path, status, asked
):
    pin = site.pin(big=BIG)
    site.status = status

    with pytest.raises(EmbedderError, match=rf"{site.url}/big: .*{status}"):
        fetch_model(tmp_path, pin)

    assert len(site.asked) == asked


def test_a_site_that_was_ill_for_a_moment_is_asked_again(site, tmp_path):
    pin = site.pin(big=BIG)
    site.refusals = [503, 429]

    folder = fetch_model(tmp_path, pin)

    assert (folder / "big").read_bytes() == BIG
    assert len(site.asked) == 3


def test_a_site_that_is_not_there_is_an_error(site, tmp_path):
    pin = replace(site.pin(big=BIG), base_url="http://127.0.0.1:1")

    with pytest.raises(EmbedderError, match="cannot download http://127"):
        fetch_model(tmp_path, pin)


def test_a_folder_that_cannot_be_written_is_an_error(site, tmp_path):
    (tmp_path / "models").write_text("a file where a folder should be")

    with pytest.raises(EmbedderError, match="cannot keep the model in"):
        fetch_model(tmp_path, site.pin(big=BIG))


def test_two_who_fetch_at_once_do_not_spoil_it(site, tmp_path):
    pin = site.pin(big=BIG)
    site.held = threading.Event()
    faults = []

    def fetch():
        try:
            fetch_model(tmp_path, pin)
        except EmbedderError as fault:
            faults.append(fault)

    both = [threading.Thread(target=fetch) for _ in range(2)]
    for one in both:
        one.start()
    site.started.wait(10)
    site.held.set()
    for one in both:
        one.join()

    assert faults == []
    assert (download_folder(tmp_path) / "big").read_bytes() == BIG


async def test_open_embedder_fetches_what_it_may_and_says_where_it_came_from(
    no_model_anywhere, site, make_model, tmp_path
):
    made = make_model(tmp_path / "made")
    pin = site.pin(
        **{name: (made / name).read_bytes() for name in ("model.onnx", "tokenizer.json")}
    )
    threads = set()

    def on_progress(done, total):
        threads.add(threading.current_thread())

    embedder = await open_embedder(
        model_dir=None, cache_dir=tmp_path, allow_download=True, on_progress=on_progress, pin=pin
    )

    assert embedder.status()["origin"] == "an earlier download"
    assert (await embedder.embed(["red"])).shape == (1, 4)
    assert threads == {threading.current_thread()}
    await embedder.close()


async def test_nothing_is_fetched_without_leave(no_model_anywhere, site, tmp_path):
    with pytest.raises(EmbedderError, match="no model found"):
        await open_embedder(model_dir=None, cache_dir=tmp_path, pin=site.pin(big=BIG))

    assert site.asked == []


async def test_a_named_folder_that_does_not_work_is_not_replaced_by_a_download(site, tmp_path):
    with pytest.raises(EmbedderError, match="is not a folder"):
        await open_embedder(
            model_dir=tmp_path / "no",
            cache_dir=tmp_path,
            allow_download=True,
            pin=site.pin(big=BIG),
        )

    assert site.asked == []


async def test_who_gives_up_does_not_wait_for_the_download(no_model_anywhere, site, tmp_path):
    pin = site.pin(big=BIG * 20)
    site.held = threading.Event()
    opening = asyncio.ensure_future(
        open_embedder(model_dir=None, cache_dir=tmp_path, allow_download=True, pin=pin)
    )
    await asyncio.to_thread(site.started.wait, 10)

    opening.cancel()
    asyncio.get_running_loop().call_later(0.05, site.held.set)
    with pytest.raises(asyncio.CancelledError):
        await opening

    assert not (download_folder(tmp_path) / "big").exists()


def test_the_pin_names_one_revision_and_checks_every_file():
    assert "/resolve/1110a243fdf4706b3f48f1d95db1a4f5529b4d41" in PINNED.base_url
    assert PINNED.base_url.startswith("https://")
    assert {one.name for one in PINNED.files} == {"model.onnx", "tokenizer.json"}
    assert all(len(one.sha256) == 64 and one.size > 0 for one in PINNED.files)
