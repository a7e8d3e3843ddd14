#!/usr/bin/python3
"""Pictures of the page with three fabrics (16 hosts, two rails, 1,000 hosts): light, dark, 320 px, and a job. Look at them after a change of the page. docs/page.png and
docs/page-1000.png are two-rails-docs.png and 1000-hosts-docs.png.
usage: SUMAC_BUILD=build/dev tests/page/pictures.py [FOLDER, else build/page]"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import browser  # noqa: E402
import cluster  # noqa: E402
import rows  # noqa: E402

FABRICS = cluster.ROOT / "lab" / "fabrics"


def settled(driver):
    """Returns after the next two frames with all answers there."""
    driver.set_script_timeout(30)
    driver.execute_async_script("const done = arguments[arguments.length - 1]; setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(done)), 1200);")


def take(folder, name, manager):
    with browser.chromium() as driver:
        for what, color, width, height in (("light", "light", 1400, 950), ("dark", "dark", 1400, 950), ("docs", "light" if name == "two-rails" else "dark", 1100, 720), ("320", "light", 320, 1400), ("320-dark", "dark", 320, 1400)):
            browser.size(driver, width, height)
            browser.theme(driver, color)
            driver.get("about:blank")
            driver.get(cluster.address(cluster.ticket(manager)))
            browser.drawn(driver)
            settled(driver)
            driver.save_screenshot(str(folder / f"{name}-{what}.png"))
        browser.size(driver, 1400, 950)
        browser.theme(driver, "light")
        for what, script in (("jobs", "location.hash = '#/jobs'"), ("hosts", "location.hash = '#/hosts'"), ("job", "location.hash = document.querySelector('#fabric-jobs td a').getAttribute('href')"),
                             ("job-in-fabric", "document.querySelector('#job a.button').click()")):
            driver.execute_script(script)
            settled(driver)
            driver.save_screenshot(str(folder / f"{name}-{what}.png"))


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else cluster.ground.case.BUILD.parent / "page")
    folder.mkdir(parents=True, exist_ok=True)
    for name, file, jobs in (("16-hosts", "demo-16h-500us.yaml", (("h1", "h2", "h5", "h9", "h10"), ("h3", "h4"), ("h13", "h14", "h6"))),
                             ("two-rails", "fabric-8h-2rails.yaml", (("h1", "h2", "h5"), ("h3", "h4", "h6", "h7")))):
        house = cluster.Cluster(name, FABRICS / file)
        try:
            for hosts in jobs:
                house.job(*hosts)
            take(folder, name, house.manager)
        finally:
            house.close()
    with rows.played(1000, 40, 40) as manager:
        take(folder, "1000-hosts", manager)
    print(folder)


main()
