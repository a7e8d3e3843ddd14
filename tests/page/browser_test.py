#!/usr/bin/python3
"""The page in headless Chromium, with real daemons: what is drawn, keys and search, both themes, 320 px, names that are markup, and a manager that dies."""

import os
import pathlib
import signal
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import browser  # noqa: E402
import cluster  # noqa: E402

from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402

ground = cluster.ground
FABRICS = cluster.ROOT / "lab" / "fabrics"
NASTY = "<img/src=x/onerror=alert(1)>\"'&"


class Browser(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.context = browser.chromium()
        cls.driver = cls.context.__enter__()  # pylint: disable=unnecessary-dunder-call
        cls.house = cluster.Cluster("two-rails", FABRICS / "fabric-8h-2rails.yaml")
        cls.house.job("h1", "h2", "h5")

    @classmethod
    def tearDownClass(cls):
        cls.context.__exit__(None, None, None)
        cls.house.close()

    def setUp(self):
        browser.size(self.driver, 1400, 950)
        browser.theme(self.driver, "light")
        self.open(self.house)

    def open(self, house):
        self.driver.get("about:blank")
        browser.complaints(self.driver)
        self.driver.get(cluster.address(house.ticket()))
        self.drawn = browser.drawn(self.driver)

    def tearDown(self):
        self.assertEqual(browser.complaints(self.driver), [])

    def find(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def text(self, selector):
        return self.find(selector).text

    def until(self, condition, what):
        return ground.until(condition, what)

    def press(self, *keys):
        for key in keys:
            self.driver.switch_to.active_element.send_keys(key)

    def test_all_hosts_links_and_trees_are_drawn(self):
        # 4 links between switches, and two of each host.
        self.assertEqual({name: self.drawn[name] for name in ("hosts", "links", "trees", "nodes", "switches")},
                         {"hosts": "8", "links": "20", "trees": "2", "nodes": "6", "switches": "6"})
        self.assertIn("8 hosts, 6 switches, 6 nodes, 2 trees", self.find("#canvas").get_attribute("aria-label"))
        self.assertEqual(self.text("#fabric-name"), "fabric-8h-2rails")

    def test_the_token_leaves_the_address_and_stays_in_this_tab(self):
        self.assertNotIn("token", self.driver.current_url)
        self.driver.refresh()
        browser.drawn(self.driver)
        self.driver.switch_to.new_window("tab")
        site = self.house.ticket()["site"]
        self.driver.get(site)
        self.until(lambda: "sumac page" in self.text("#notice"), "no notice")
        self.driver.close()
        self.driver.switch_to.window(self.driver.window_handles[0])

    def test_keys_search_and_open(self):
        self.find("body").send_keys("/")
        self.press("an-root-b")
        self.until(lambda: "an-root-b" in self.text("#search-found"), "nothing is found")
        self.press(Keys.ENTER)
        self.until(lambda: "an-root-b" in self.text("#selection"), "it is not selected")
        self.assertTrue(self.driver.current_url.endswith("#/fabric/node/3"))
        self.find("#canvas").send_keys(Keys.ESCAPE)
        self.until(lambda: self.text("#selection") == "", "Escape does not leave it")
        self.find("#canvas").send_keys(Keys.ARROW_DOWN)
        first = self.until(lambda: self.text("#selection"), "arrows select nothing")
        self.find("#canvas").send_keys(Keys.ARROW_DOWN)
        self.until(lambda: self.text("#selection") != first, "arrows do not move on")
        self.assertIn(self.driver.execute_script("return document.getElementById('said').textContent").split()[0], ("host", "node", "switch"))

    def test_tab_reaches_everything_with_a_visible_focus(self):
        reached, bare = [], []
        self.driver.execute_script("document.activeElement.blur()")
        for _ in range(40):
            self.press(Keys.TAB)
            name, style = self.driver.execute_script("const e = document.activeElement; return [e.id || e.dataset.view || e.textContent.trim() || e.tagName, e === document.body || getComputedStyle(e).outlineStyle]")
            reached.append(name)
            if style == "none":
                bare.append(name)
        for wanted in ("search-text", "theme", "fabric", "jobs", "users", "canvas", "zoom-in", "zoom-fit", "tree-0", "tree-1"):
            self.assertIn(wanted, reached)
        self.assertEqual(bare, [])

    def test_tables_have_what_the_canvas_shows(self):
        for view, rows, words in (("nodes", 6, "an-root-a"), ("hosts", 8, "leaf-a1, leaf-b1"), ("links", 4, "leaf-a1 - root-a"), ("trees", 2, "T2"), ("jobs", 1, "running"),
                                  ("users", 1, "root"), ("events", 4, "granted")):
            with self.subTest(view):
                self.driver.execute_script(f"location.hash = '#/{view}'")
                self.until(lambda count=rows, said=words: len(self.driver.find_elements(By.CSS_SELECTOR, "#table tbody tr")) >= count and said in self.text("#table"),
                           lambda: self.text("#table"))

    def test_a_job_has_a_page_of_its_own(self):
        self.driver.execute_script("location.hash = '#/jobs'")
        self.until(lambda: self.driver.find_elements(By.CSS_SELECTOR, "#table td a"), "no job")[0].click()
        self.until(lambda: "Tree T" in self.text("#job"), "no tree")
        self.assertEqual([one.text for one in self.driver.find_elements(By.CSS_SELECTOR, "#job .hosts a")], ["h1", "h2", "h5"])
        self.find("#job a.button").click()
        self.until(lambda: "Its page" in self.text("#selection"), "it is not shown in the fabric")
        self.press(Keys.ESCAPE)
        self.until(lambda: self.driver.current_url.endswith("#/fabric"), "Escape does not leave it")
        self.driver.execute_script("location.hash = '#/job/1'")
        self.until(lambda: "does not run any more" in self.text("#job"), "no word about a job that is none")
        # The browser writes each answer 404 to its console.
        self.assertTrue(all("/api/v1/jobs/1 " in line and "404" in line for line in browser.complaints(self.driver)))
        self.driver.get("about:blank")

    def test_links_that_mean_nothing_show_the_fabric(self):
        for route in ("/%", "/fabric/job/x", "/fabric/job/..%2foverview", "/fabric/host/-1"):
            with self.subTest(route):
                self.driver.execute_script(f"location.hash = '#{route}'")
                self.until(lambda: "root-a" in self.find("#canvas").get_attribute("outerHTML") + self.text("body"), "no fabric")
                self.until(lambda: "up to date" in self.text("body"), lambda: self.text("header"))
        self.assertEqual(browser.complaints(self.driver), [])

    def test_light_and_dark(self):
        def back():
            return self.driver.execute_script("return getComputedStyle(document.body).backgroundColor")
        light = back()
        browser.theme(self.driver, "dark")
        self.until(lambda: back() != light, "the system's dark is not taken")
        browser.theme(self.driver, "light")
        self.find("#theme").click()
        self.assertNotEqual(back(), light)
        self.find("#theme").click()
        self.assertEqual(back(), light)
        self.driver.execute_script("localStorage.clear()")

    def test_nothing_is_cut_off_at_320_px(self):
        browser.size(self.driver, 320, 800)
        for view in ("fabric", "jobs", "events", "nodes", "hosts", "trees"):
            self.driver.execute_script(f"location.hash = '#/{view}'")
            wide = self.driver.execute_script("return document.documentElement.scrollWidth")
            self.assertLessEqual(wide, 320, view)

    def test_a_refresh_moves_nothing(self):
        script = """
            const done = arguments[arguments.length - 1];
            let moved = 0;
            new PerformanceObserver((list) => { for (const one of list.getEntries()) moved += one.value; }).observe({type: 'layout-shift'});
            const first = document.getElementById('about').textContent;
            const look = () => document.getElementById('about').textContent === first ? requestAnimationFrame(look) : done(moved);
            look();"""
        self.driver.set_script_timeout(30)
        self.assertEqual(self.driver.execute_async_script(script), 0)

    def test_a_manager_that_dies_is_told_and_comes_back(self):
        house = cluster.Cluster("dies", FABRICS / "test-4h.yaml", page="127.0.0.1:0", nodes=[], hosts=[])
        try:
            self.open(house)
            port = house.ticket()["site"].rsplit(":", 1)[1]
            house.kill("sharp_am")
            self.until(lambda: "last answer" in self.text("#status") and "trying again" in self.text("#status"), lambda: self.text("#status"))
            self.assertIn("test-4h", self.text("#fabric-name"))
            house.words["sharp_am"][1] = f"127.0.0.1:{port}"
            house.start_manager()
            self.until(lambda: "This token is not valid any more" in self.text("#notice"), lambda: self.text("#status"))
            self.driver.execute_script(f"location.href = {cluster.address(house.ticket())!r}")
            self.until(lambda: self.text("#status") == "up to date", lambda: self.text("#status"))
            browser.complaints(self.driver)  # It complains of refused connections, and of the old token.
        finally:
            house.close()

    def test_what_is_missing_is_counted_and_named(self):
        house = cluster.Cluster("missing", FABRICS / "test-4h.yaml", hosts=["h1", "h2", "h4"], words=["--node-away", "100ms"])
        try:
            nodes = [label for label in house.processes if label.startswith("an-")]
            self.open(house)
            house.kill(nodes[-1])
            self.until(lambda: f"{len(nodes) - 1} of {len(nodes)}\nmissing: {nodes[-1].removeprefix('an-')}" in self.text("#figures"), lambda: self.text("#figures"))
            self.assertIn("3 of 4\nno sharpd: h3", self.text("#figures"))
        finally:
            house.close()

    def test_names_that_are_markup_stay_text(self):
        house = ground.House("markup", manager=False, node=False, sharpd=False, words={"sharp_am": ["--page-listen", "127.0.0.1:0"]})
        house.start("sharp_am", "--listen", house.manager)
        house.start("sharp_an", "--name", NASTY, "--manager", house.manager, "--listen", "127.0.0.1:0")
        try:
            self.driver.get("about:blank")
            self.driver.get(cluster.address(cluster.ticket(house.manager)))
            browser.drawn(self.driver)
            for view in ("nodes", "trees", "events", "fabric/node/0"):
                self.driver.execute_script(f"location.hash = '#/{view}'")
                self.until(lambda: NASTY in self.text("main"), lambda: self.text("main"))
                self.assertEqual(self.driver.find_elements(By.TAG_NAME, "img"), [])
            self.find("#search-text").send_keys("onerror")
            self.until(lambda: NASTY in self.text("#search-found"), "it is not found")
            self.assertEqual(self.driver.find_elements(By.TAG_NAME, "img"), [])
        finally:
            house.close()

    def test_an_empty_fabric_says_so(self):
        house = ground.House("empty", manager=False, node=False, sharpd=False, words={"sharp_am": ["--page-listen", "127.0.0.1:0"]})
        house.start("sharp_am", "--listen", house.manager)
        try:
            self.driver.get("about:blank")
            self.driver.get(cluster.address(cluster.ticket(house.manager)))
            browser.drawn(self.driver)
            self.until(lambda: "No jobs run." in self.text("#fabric-jobs"), lambda: self.text("#fabric-jobs"))
            for view, words in {"nodes": "start a sharp_an", "hosts": "start a sharpd", "users": "No user holds anything", "events": "Nothing has happened"}.items():
                self.driver.execute_script(f"location.hash = '#/{view}'")
                self.until(lambda said=words: said in self.text("#table"), lambda: self.text("#table"))
        finally:
            house.close()


if __name__ == "__main__":
    os.environ.pop("DISPLAY", None)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    unittest.main(verbosity=2)
