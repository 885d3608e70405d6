"""The report in headless chromium, driven by playwright."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright
from playwright.sync_api import Page as Tab

from girl.reporting.page import write_report
from girl.reporting.report_data import ReportData
from tests.helpers.reports import HOSTILE, make_report, make_set_report

pytestmark = pytest.mark.browser

# The sandbox does not run as root; the other flags stop background requests.
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

#: The position of a node on the screen.
POSITION = """node => {
    const plot = document.getElementById("plot"), {xaxis, yaxis} = plot._fullLayout;
    const data = JSON.parse(document.getElementById("report-data").textContent);
    const [x, y] = Object.values(data.maps)[0], box = plot.getBoundingClientRect();
    return [box.left + xaxis._offset + xaxis.l2p(x[node]), box.top + yaxis._offset + yaxis.l2p(y[node])];
}"""

#: The colours on the map, by node.
COLOURS = """() => {
    const found = [];
    for (const trace of document.getElementById("plot").data)
        (trace.customdata || []).forEach((node, i) => {
            found[node] = Array.isArray(trace.marker.color) ? trace.marker.color[i] : trace.marker.color;
        });
    return found;
}"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        pytest.fail("chromium is not installed: the report is tested in it; `apt-get install -y chromium` brings it")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def report() -> ReportData:
    return make_report()


@pytest.fixture(scope="module")
def path(report, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_report(path, report)
    return path


class RecordedTab:
    """A tab that records requests and console messages."""

    def __init__(self, browser: Browser, path: Path, **options: object) -> None:
        self.tab = browser.new_context(**options).new_page()
        self.requests: list[str] = []
        self.messages: list[str] = []
        self.tab.on("request", lambda request: self.requests.append(request.url))
        self.tab.on("console", lambda message: self.messages.append(message.text))
        self.tab.on("pageerror", lambda error: self.messages.append(str(error)))
        self.tab.goto(path.as_uri())
        self.tab.wait_for_selector("html[data-ready]")

    def check(self) -> None:
        assert len(self.requests) == 1  # the page itself
        assert self.messages == []


def in_scheme(tab: Tab, scheme: str) -> None:
    """Switch to light or dark mode, and wait until the map is redrawn."""
    tab.emulate_media(color_scheme=scheme)
    tab.wait_for_selector(f"#plot[data-scheme={scheme}]")


@pytest.fixture(scope="module")
def desk(browser, path) -> RecordedTab:
    return RecordedTab(
        browser, path, viewport={"width": 1200, "height": 900}, permissions=["clipboard-read", "clipboard-write"]
    )


@pytest.fixture
def tab(desk) -> Iterator[Tab]:
    """The page as it is when opened. Tests share it, because loading takes longest."""
    desk.tab.keyboard.press("Escape")
    if desk.tab.locator("#chosen").is_visible():
        desk.tab.click("#clear")
    desk.tab.fill("#search", "")
    desk.tab.select_option("#colour", index=0)
    desk.tab.click("[data-zoom=all]")
    in_scheme(desk.tab, "light")
    desk.tab.evaluate("document.activeElement.blur(); scrollTo({top: 0, behavior: 'instant'})")
    yield desk.tab
    desk.check()


@pytest.fixture(scope="module")
def phone(browser, path) -> RecordedTab:
    return RecordedTab(browser, path, viewport={"width": 390, "height": 800}, is_mobile=True, has_touch=True)


def data_of(tab: Tab) -> dict:
    return json.loads(tab.locator("#report-data").text_content())


def listed(tab: Tab, which: str) -> list[str]:
    return tab.locator(f"#{which} .who").all_text_contents()


def from_the_top(tab: Tab) -> None:
    """Reset the focus: the next Tab key goes to the first element of the page."""
    tab.evaluate("document.body.tabIndex = -1; document.body.focus(); document.body.removeAttribute('tabindex')")


def test_it_loads_without_requests_or_console_messages(tab):
    assert tab.title().startswith("A graph & its <people>")
    assert tab.locator("#plot .scatterlayer .point").count() == 90
    assert tab.locator("#evil").count() == 0


def test_another_column_changes_the_colours_and_the_legend(tab):
    names = tab.locator("#colour option").all_text_contents()
    assert names[:3] == ["team", "cluster (k-means)", "neighbours (degree)"]
    seen = []
    for name in names:
        tab.select_option("#colour", label=name)
        colours = tab.evaluate(COLOURS)
        assert len(colours) == 90
        assert None not in colours
        seen.append(tuple(colours))
        assert tab.locator("#legend").inner_text().strip()
    assert len(set(seen)) == len(names)
    tab.select_option("#colour", label="team")
    assert len(set(tab.evaluate(COLOURS))) == 4  # three teams and missing
    assert tab.locator("#legend .name").all_text_contents() == ["blue", "green", "red", "missing"]


def test_a_class_is_hidden_and_shown_from_the_legend(tab):
    button = tab.locator("#legend button").first
    before = tab.locator("#plot .point").count()
    button.click()
    assert button.get_attribute("aria-pressed") == "false"
    assert tab.locator("#plot .point").count() < before
    button.click()
    assert tab.locator("#plot .point").count() == before


def test_search_selects_the_node_and_lists_its_neighbours(tab, report):
    tab.fill("#search", "NODE 1")
    assert tab.locator("#suggestions li").all_text_contents()[:2] == ["node 1", "node 10"]
    tab.keyboard.press("ArrowDown")
    tab.keyboard.press("Enter")
    assert tab.locator("#chosen-id").inner_text() == "node 10"
    data = data_of(tab)
    assert listed(tab, "nearest") == [report.ids[other] for other in data["nearest"][10]]
    assert listed(tab, "neighbors") == [report.ids[other] for other in data["neighbors"][10]]
    traces = tab.evaluate("Object.fromEntries(document.getElementById('plot').data.map(t => [t.name, t.customdata]))")
    assert traces["chosen"] == [10]
    assert (traces["nearest"], traces["neighbors"]) == (data["nearest"][10], data["neighbors"][10])
    other = data["nearest"][10][0]
    tab.locator("#nearest button").first.click()
    assert tab.locator("#chosen-id").inner_text() == report.ids[other]
    tab.locator("#neighbors button").first.click()
    assert tab.locator("#chosen-id").inner_text() == report.ids[data["neighbors"][other][0]]
    tab.click("#clear")
    assert tab.locator("#chosen").is_hidden()


def test_an_id_that_looks_like_markup_is_found_and_stays_text(tab):
    tab.fill("#search", "</script>")
    tab.keyboard.press("Enter")
    assert tab.locator("#chosen-id").text_content() == HOSTILE
    tab.fill("#search", "nobody")
    assert "no such id" in tab.locator("#suggestions").inner_text()


def test_hovering_shows_the_row_and_a_click_chooses_it(tab):
    tab.evaluate("document.querySelector('.plot').scrollIntoView({behavior: 'instant', block: 'center'})")
    x, y = tab.evaluate(POSITION, 3)
    tab.mouse.move(x - 3, y)
    tab.mouse.move(x, y)
    tab.wait_for_selector("#card:not([hidden])")
    card = tab.locator("#card").inner_text()
    for words in ("node 3", "team", "red", "2020-01-04", "<i>motto</i> 3"):
        assert words in card
    assert "age\n–" in card  # missing
    tab.mouse.click(x, y)
    assert tab.locator("#chosen-id").inner_text() == "node 3"


@pytest.mark.parametrize("width", [320, 390, 768])
def test_a_narrow_screen_does_not_scroll_sideways(phone, width):
    tab = phone.tab
    tab.set_viewport_size({"width": width, "height": 800})
    tab.fill("#search", "node 5")
    tab.keyboard.press("Enter")
    tab.evaluate("document.querySelector('details').open = true")
    tab.wait_for_function("width => document.getElementById('plot')._fullLayout.width < width", arg=width)
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    phone.check()


def test_dark_mode_follows_the_system(tab):

    def brightness() -> int:
        colour = tab.evaluate("getComputedStyle(document.body).backgroundColor")
        return sum(int(part) for part in colour.strip("rgb()").split(","))

    assert brightness() > 700
    tab.select_option("#colour", label="age")
    light = tab.evaluate(COLOURS)
    in_scheme(tab, "dark")
    assert brightness() < 120
    assert tab.evaluate(COLOURS) != light


def test_the_keyboard_reaches_everything(tab):
    from_the_top(tab)
    reached = []
    for _ in range(40):
        tab.keyboard.press("Tab")
        reached.append(tab.evaluate("document.activeElement.id || document.activeElement.className"))
        if reached[-1] == "search":
            break
    assert reached[0] == "skip"
    assert reached[-1] == "search"
    assert tab.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    tab.keyboard.type("node 20")
    tab.keyboard.press("Enter")
    assert tab.locator("#chosen-id").inner_text() == "node 20"
    reached = []
    for _ in range(60):
        tab.keyboard.press("Tab")
        reached.append(tab.evaluate("document.activeElement.closest('[id]')?.id"))
    for wanted in ("colour", "plot", "legend", "clear", "nearest", "neighbors", "copy"):
        assert wanted in reached


def test_the_skip_link_leads_to_the_map(tab):
    from_the_top(tab)
    tab.keyboard.press("Tab")
    tab.keyboard.press("Enter")
    assert tab.evaluate("document.activeElement.id") == "map"


def test_keys_and_buttons_move_the_map(tab):
    span = "(() => { const [a, b] = document.getElementById('plot')._fullLayout.xaxis.range; return b - a; })()"
    first = tab.evaluate("document.getElementById('plot')._fullLayout.xaxis.range[0]")
    whole = tab.evaluate(span)
    tab.focus("#plot")
    tab.keyboard.press("+")
    assert tab.evaluate(span) < whole
    tab.keyboard.press("0")
    assert tab.evaluate(span) == pytest.approx(whole)
    tab.keyboard.press("ArrowRight")
    assert tab.evaluate("document.getElementById('plot')._fullLayout.xaxis.range[0]") > first
    tab.click("[data-zoom=out]")
    assert tab.evaluate(span) > whole


def test_the_usage_lines_are_copied(tab, report):
    tab.click("#copy")
    tab.wait_for_function("() => document.getElementById('copy').textContent === 'Copied'")
    assert tab.evaluate("navigator.clipboard.readText()").strip() == report.usage.strip()


def test_printing_does_not_change_the_screen(tab, tmp_path):
    in_scheme(tab, "dark")
    before = tab.evaluate("document.getElementById('plot')._fullLayout.width")
    colours = tab.evaluate(COLOURS)
    tab.pdf(path=tmp_path / "report.pdf", prefer_css_page_size=True)
    printed = (tmp_path / "report.pdf").read_bytes()
    assert printed.startswith(b"%PDF")
    assert 2 <= printed.count(b"/Type /Page\n") <= 12
    tab.wait_for_selector("#plot[data-scheme=dark]")  # it was printed in light mode
    assert tab.evaluate("document.getElementById('plot')._fullLayout.width") == before
    assert tab.evaluate(COLOURS) == colours


def test_a_graph_of_a_set_lists_its_nearest_graphs(browser, tmp_path):
    report = make_set_report()
    write_report(tmp_path / "set.html", report)
    desk = RecordedTab(browser, tmp_path / "set.html", viewport={"width": 1200, "height": 900})
    tab = desk.tab
    assert tab.locator("#plot .scatterlayer .point").count() == 40
    tab.fill("#search", "graph 12")
    tab.keyboard.press("Enter")
    assert tab.locator("#chosen-id").inner_text() == "graph 12"
    assert listed(tab, "nearest") == [report.ids[other] for other in data_of(tab)["nearest"][12]]
    row = tab.locator("#chosen-row").inner_text()
    assert "number of nodes" in row
    assert "22" in row
    assert tab.locator("#neighbors").count() == 0
    assert "Numbers are cosine similarities" in tab.locator("#chosen-words").inner_text()
    tab.click("#closer")
    tab.locator("#nearest button").first.click()
    assert tab.locator("#chosen-id").inner_text() == report.ids[data_of(tab)["nearest"][12][0]]
    tab.select_option("#colour", label="number of edges")
    assert len(set(tab.evaluate(COLOURS))) > 10
    desk.check()
