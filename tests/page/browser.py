"""A headless Chromium for tests and pictures of the page. Start it with the Python that has Debian's selenium (/usr/bin/python3)."""

import contextlib
import os
import shutil
import tempfile

from selenium import webdriver
from selenium.webdriver.chrome.service import Service

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
         "--disable-extensions", "--no-proxy-server", "--force-color-profile=srgb", "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1 , EXCLUDE *.localhost"]


@contextlib.contextmanager
def chromium(width=1400, height=950):
    """Its profile is new, and removed at the end; it resolves no name, so that it can reach nothing but this machine."""
    profile = tempfile.mkdtemp(prefix="sumac-page-", dir="/tmp")
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or "/usr/bin/chromium"
    for flag in (*FLAGS, f"--user-data-dir={profile}", f"--window-size={width},{height}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    environment = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    driver = webdriver.Chrome(service=Service(shutil.which("chromedriver"), env=environment), options=options)
    try:
        size(driver, width, height)
        yield driver
    finally:
        driver.quit()
        shutil.rmtree(profile, ignore_errors=True)


def size(driver, width, height):
    """Also below the least width of a window."""
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500})


def theme(driver, name):
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": name}]})


def drawn(driver, seconds=30):
    """Waits until the fabric with its load is drawn. Returns the numbers that the canvas counted, and when it was, in ms since the page was asked for."""
    driver.set_script_timeout(seconds)
    return driver.execute_async_script("""
        const done = arguments[arguments.length - 1], canvas = document.getElementById('canvas');
        const look = () => canvas.dataset.first ? done({...canvas.dataset}) : requestAnimationFrame(look);
        look();""")


def complaints(driver):
    """What the browser wrote to its console: errors of scripts, refusals by the policy of contents."""
    return [line["message"] for line in driver.get_log("browser") if line["level"] in ("SEVERE", "WARNING")]
