"""Take the screenshots of the studio for the documentation: `make screenshots`.

They show the studio itself, in a headless Chromium. The extra `minigrid` is needed.
"""

import argparse
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, Page, expect, sync_playwright

from easee import priors
from easee.studio.server import running

WRONG = """# turns undo each other
actions: forward left right
right lfet ~
left right ~ Λ
left left ~ right right @ 2
"""
SECONDS = 120_000  # milliseconds that a computation may take


@dataclass(frozen=True)
class Shot:
    """A screenshot: a view in a window of a size, in light or dark colours."""

    view: str
    width: int
    scheme: Literal["light", "dark"]
    name: str

    def take(self, browser: Browser, url: str, folder: Path) -> None:
        """Open the studio, prepare the view and save the picture."""
        height = 840 if self.width > 1000 else 900
        page = browser.new_page(
            viewport={"width": self.width, "height": height}, color_scheme=self.scheme
        )
        page.goto(url)
        VIEWS[self.view](page)
        path = folder / f"{self.name}.png"
        page.screenshot(path=path)
        print(path)
        page.close()


def main() -> None:
    """Take the screenshots of the documentation, or one of each view, size and colour."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path("docs/images"))
    parser.add_argument("--all", action="store_true", help="each view, in each size and colour")
    arguments = parser.parse_args()
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    with running() as studio, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for shot in every_shot() if arguments.all else SHOTS:
            shot.take(browser, studio.url, arguments.folder)
        browser.close()


def every_shot() -> list[Shot]:
    """Return all combinations of views, widths and colours."""
    schemes: tuple[Literal["light", "dark"], ...] = ("light", "dark")
    return [
        Shot(view, width, scheme, f"studio-{view}-{width}-{scheme}")
        for view in VIEWS
        for width in (1280, 800)
        for scheme in schemes
    ]


def write(page: Page, prior: str, depth: int) -> None:
    """Write a ready-made prior and compile it."""
    page.fill("#prior", prior)
    page.fill("#depth-number", str(depth))
    page.press("#depth-number", "Enter")
    expect(page.locator("#status")).to_have_text(
        re.compile(rf"Compiled .* at depth {depth}\."), timeout=SECONDS
    )
    expect(page.locator("#forecast")).to_contain_text("nodes", timeout=SECONDS)
    page.locator("#depth-number").blur()


def show_graph(page: Page) -> None:
    """Show a small graph, with a walk of two steps and the pointer on a node."""
    page.click("#tab-graph")
    write(page, str(priors.get("rotation-grid")), 3)
    page.click("#act-forward")
    expect(page.locator("#walk h3")).to_contain_text("layer 1")
    page.click("#act-left")
    expect(page.locator("#walk h3")).to_contain_text("layer 2")
    page.hover("#drawing rect >> nth=3")


def show_large_graph(page: Page) -> None:
    """Show a graph of 23,695 nodes, in groups."""
    page.click("#tab-graph")
    write(page, str(priors.get("rotation-grid")), 12)
    page.mouse.move(0, 0)


def show_error(page: Page) -> None:
    """Show errors at their lines."""
    page.click("#tab-graph")
    write(page, str(priors.get("rotation-grid")), 3)
    page.fill("#prior", WRONG)
    expect(page.locator("#errors li")).to_have_count(2)


def show_layers(page: Page) -> None:
    """Show the sizes of layers."""
    page.click("#tab-layers")
    write(page, str(priors.get("rotation-grid")), 10)


def show_race(page: Page) -> None:
    """Show the end of a race."""
    page.click("#tab-graph")
    write(page, str(priors.get("cardinal-grid")), 20)
    page.click("#tab-race")
    expect(page.locator("#race-play")).to_have_text("Replay", timeout=SECONDS)


def show_check(page: Page) -> None:
    """Show a verification with a counterexample."""
    write(page, str(priors.get("doorkey")), 4)
    page.click("#tab-check")
    if not page.locator(".job[data-state=done]").count():
        page.fill("#env", "MiniGrid-DoorKey-8x8-v0")
        page.click("summary:has-text('Settings')")
        page.fill("#rename", "open=toggle")
        page.click("summary:has-text('Settings')")
        page.click("text=Verify the prior")
    expect(page.locator(".job[data-state=done] table")).to_be_visible(timeout=SECONDS)


def show_export(page: Page) -> None:
    """Show what can be saved."""
    page.click("#tab-export")
    write(page, str(priors.get("rotation-grid")), 6)


VIEWS = {
    "graph": show_graph,
    "large": show_large_graph,
    "layers": show_layers,
    "race": show_race,
    "check": show_check,
    "export": show_export,
    "error": show_error,
}
SHOTS = (
    Shot("graph", 1280, "light", "studio-graph"),
    Shot("race", 1280, "light", "studio-race"),
    Shot("check", 1280, "dark", "studio-check"),
    Shot("large", 800, "dark", "studio-large"),
)

if __name__ == "__main__":
    main()
