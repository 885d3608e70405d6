"""Save a picture of a page: ``python docs/screenshot.py PAGE.html OUT.png`` (Debian's chromium, headless)."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

with sync_playwright() as playwright:
    flags = ["--no-sandbox", "--disable-gpu"]
    browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=flags)
    page = browser.new_page(viewport={"width": 1100, "height": 800})
    page.goto(Path(sys.argv[1]).resolve().as_uri())
    page.wait_for_timeout(2000)
    page.screenshot(path=sys.argv[2], full_page=True)
    browser.close()
