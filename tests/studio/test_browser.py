"""The page in a real browser; skipped where there is no Chromium or no Playwright."""

import os
import re
import shutil
from pathlib import Path

import pytest

import easee

REQUIRED = os.environ.get("STUDIO_BROWSER") == "required"
if REQUIRED:
    import playwright.sync_api as playwright
else:
    playwright = pytest.importorskip("playwright.sync_api", reason="needs Playwright")
pytestmark = pytest.mark.slow
expect = playwright.expect
ROTATION = str(easee.priors.get("rotation-grid"))
PATIENCE = 60_000  # milliseconds, on a busy machine


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as started:
        installed = map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))
        path = next(filter(None, installed), started.chromium.executable_path)
        if not Path(path).exists() and not REQUIRED:
            pytest.skip("needs Chromium: apt-get install chromium")
        browser = started.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def page(browser, studio):
    """The start page in a new window, compiled; errors of its scripts fail the test."""
    expect.set_options(timeout=PATIENCE)
    context = browser.new_context(viewport={"width": 1280, "height": 840}, reduced_motion="reduce")
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    problems = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda line: problems.append(line.text) if is_problem(line) else None)
    page.goto(studio.url)
    expect(page.locator("#status")).to_have_text("Compiled 23 nodes at depth 3.")
    yield page
    context.close()
    assert problems == []


def is_problem(line):
    """Return whether a script failed; requests that fail are the server's to explain."""
    return line.type == "error" and "Failed to load resource" not in line.text


def write(page, text, depth):
    page.fill("#prior", text)
    page.fill("#depth-number", str(depth))
    page.press("#depth-number", "Enter")
    expect(page.locator("#status")).to_have_text(re.compile(rf"^Compiled .* at depth {depth}\.$"))


def test_typing_a_prior_shows_its_graph(page):
    page.click("#tab-graph")
    expect(page.locator("#drawing .node")).to_have_count(23)
    expect(page.locator("#facts")).to_contain_text("23 exact")
    page.click("#prior")
    page.press("#prior", "Control+End")
    page.keyboard.type("\nforward forward ~ forward")
    graph = easee.unroll(easee.Equivalences.parse(f"{ROTATION}\nforward forward ~ forward"), 3)
    expect(page.locator("#drawing .node")).to_have_count(len(graph))
    expect(page.locator("#counted")).to_have_text("3 actions · 4 relations")


def test_a_wrong_line_is_marked_as_it_is_typed(page):
    page.press("#prior", "Control+End")
    page.keyboard.type("\nlfet right ~")
    expect(page.locator("#errors")).to_contain_text("Line 5: unknown action 'lfet'")
    expect(page.locator("#gutter .wrong")).to_have_text("5\n")
    expect(page.locator("#prior")).to_have_attribute("aria-invalid", "true")
    expect(page.locator("#status")).to_have_text("The prior has errors.")
    page.click("#errors button")
    page.keyboard.type("left right ~")
    expect(page.locator("#errors li")).to_have_count(0)
    expect(page.locator("#status")).to_contain_text("Compiled")


def test_the_slider_changes_the_depth_and_warns_of_explosions(page):
    expect(page.locator("#forecast")).to_contain_text("Depth 14 is the largest that fits")
    page.focus("#depth")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#status")).to_have_text("Compiled 51 nodes at depth 4.")
    page.keyboard.press("End")
    expect(page.locator("#forecast")).to_contain_text("109,321 nodes")
    expect(page.locator("#explosion")).to_contain_text("This graph has 109,321 nodes")
    page.fill("#depth-number", "40")
    page.press("#depth-number", "Enter")
    expect(page.locator("#explosion")).to_contain_text("depth 40 does not fit")
    expect(page.locator("#explosion button")).to_have_text("Use depth 14")


def test_a_graph_of_two_thousand_nodes_and_more_is_drawn_in_groups(page):
    page.click("#tab-graph")
    write(page, ROTATION, 9)
    expect(page.locator("#graph-note")).to_contain_text("2,390 nodes, drawn as")
    expect(page.locator("#graph-note")).to_contain_text("are in groups of neighbours")
    assert 300 < page.locator("#drawing .node").count() <= 2000
    page.hover("#drawing .node.group >> nth=-1")
    expect(page.locator("#tip")).to_contain_text("nodes of layer 9")
    before = page.locator("#drawing > g").get_attribute("transform")
    page.click("#zoom-in")
    assert page.locator("#drawing > g").get_attribute("transform") != before
    page.click("#zoom-fit")
    expect(page.locator("#drawing > g")).to_have_attribute("transform", before)


def test_hovering_and_walking_show_words_and_probabilities(page):
    page.click("#tab-graph")
    page.hover("#drawing .node >> nth=8")
    expect(page.locator("#tip")).to_contain_text("left left")
    expect(page.locator("#tip")).to_contain_text("merged: ↷↷")
    page.click("#drawing .node >> nth=8")
    expect(page.locator("#walk-word")).to_have_text("left left")
    page.press("#act-forward", "Enter")  # with the keyboard
    expect(page.locator("#walk-word")).to_have_text("left left forward")
    expect(page.locator("#walk")).to_contain_text("The end of the graph")
    expect(page.locator("#drawing .node.here")).to_have_count(1)
    page.click("text=Let it walk")
    expect(page.locator("#walk h3")).to_have_text("Walk · layer 3")


def test_the_race_counts_rising_cells(page):
    page.click("#tab-race")
    expect(page.locator("#runners figure")).to_have_count(3)
    counts = [int(text) for text in page.locator("#runners b").all_inner_texts()]
    assert counts[2] > counts[0] > 1
    page.select_option("#race-walkers", "1")
    expect(page.locator("#race-note")).to_contain_text("1 walker from")
    write(page, str(easee.priors.get("doorkey")), 2)
    expect(page.locator("#race-note")).to_contain_text("this prior has left, right, forward")


def test_a_verification_shows_rates_pictures_and_survives_a_reload(page):
    write(page, f"{ROTATION}\nforward forward ~ forward", 3)
    page.click("#tab-check")
    page.fill("#env", "easee/RotationGrid-v0")
    page.click("summary:has-text('Settings')")
    page.fill("#states", "10")
    page.click("text=Verify the prior")
    expect(page.locator(".job[data-state=done] tbody tr")).to_have_count(4)
    expect(page.locator(".job tbody tr >> nth=0")).to_contain_text("holds")
    expect(page.locator(".job .example img")).to_have_count(3)
    page.reload()
    expect(page.locator(".job[data-state=done] tbody tr")).to_have_count(4)
    expect(page.locator("#prior")).to_have_value(re.compile("forward forward ~ forward$"))
    page.click("text=Use measured rates")
    expect(page.locator("#prior")).not_to_have_value(re.compile("forward forward ~ forward$"))
    page.click("#undo")
    expect(page.locator("#prior")).to_have_value(re.compile("forward forward ~ forward$"))


def test_a_discovery_has_progress_and_can_be_stopped_from_another_tab(page, studio):
    page.click("#tab-check")
    page.fill("#env", "easee/RotationGrid-v0")
    page.click("summary:has-text('Settings')")
    page.fill("#max-length", "8")
    page.click("text=Discover relations")
    running = ".job[data-kind=discover][data-state=running]"
    expect(page.locator(running)).to_contain_text(re.compile("of about .* steps"))
    other = page.context.new_page()
    other.goto(studio.url)
    other.click(f"{running} >> text=Stop")
    expect(other.locator(".job[data-kind=discover]")).to_contain_text("so far")
    expect(page.locator(".job[data-kind=discover]")).to_contain_text("interrupted")
    other.close()


def test_an_environment_that_fails_is_a_message_and_the_page_goes_on(page):
    page.click("#tab-check")
    page.fill("#env", "failing/Raises-v0")
    page.click("text=Verify the prior")
    expect(page.locator(".job[data-state=failed] >> nth=0")).to_contain_text("the motor is on fire")
    write(page, ROTATION, 2)


def test_exports_are_files_that_the_library_reads(page, tmp_path):
    page.click("#tab-export")
    page.reload()  # so that the graph has never been shown
    expect(page.locator("#python")).to_contain_text("easee.compile(omega, depth=3)")
    for button, name in (
        ("prior", "prior.txt"),
        ("policy", "policy.npz"),
        ("picture", "graph.svg"),
    ):
        with page.expect_download() as download:
            page.click(f"#save-{button}")
        assert download.value.suggested_filename == name
        download.value.save_as(tmp_path / name)
    policy = easee.ExplorationPolicy.load(tmp_path / "policy.npz")
    omega = easee.Equivalences.load(tmp_path / "prior.txt")
    assert (easee.compile(omega, 3).visits == policy.visits).all()
    picture = (tmp_path / "graph.svg").read_text()
    assert picture.count("<rect") == 24  # with the background
    assert set(re.findall(r'fill="(\w+\()', picture)) == set()  # plain colours, for any program


def test_a_lost_connection_is_said_and_loses_no_text(page):
    page.route("**/api/**", lambda route: route.abort())
    page.press("#prior", "Control+End")
    page.keyboard.type("\n# written without a server")
    expect(page.locator("#connection")).to_contain_text("Your text is safe")
    page.unroute("**/api/**")
    expect(page.locator("#connection")).to_be_hidden()
    expect(page.locator("#status")).to_contain_text("Compiled")
    page.reload()
    expect(page.locator("#prior")).to_have_value(re.compile("# written without a server$"))


def test_ten_thousand_pasted_relations_are_a_message_and_can_be_undone(page):
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.evaluate("text => navigator.clipboard.writeText(text)", "left right ~\n" * 10_000)
    page.press("#prior", "Control+End")
    page.keyboard.press("Control+v")
    expect(page.locator("#errors")).to_contain_text("the studio takes at most 2,000")
    page.click("#undo")
    expect(page.locator("#status")).to_have_text("Compiled 23 nodes at depth 3.")


def test_the_page_fits_at_800_pixels_and_without_a_pointer(page):
    page.set_viewport_size({"width": 800, "height": 900})
    for tab in ("graph", "layers", "race", "check", "export"):
        page.focus("[role=tab][aria-selected=true]")
        page.keyboard.press("ArrowRight")
        assert page.evaluate("document.documentElement.scrollWidth") <= 800, tab
    expect(page.locator("[role=tab][aria-selected=true]")).to_be_focused()
