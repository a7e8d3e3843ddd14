"""Tests `sumac fabric show` on good files, bad files and wrong words."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from program import CORPUS, ROOT, fabric

SMALL = ROOT / "lab/fabrics/test-4h.yaml"
RAILS = CORPUS / "two-rails.lst"

PLANES = """name: planes
switches: [s1, s2, t1, t2]
links: [{a: s1, b: t1}, {a: s2, b: t2}]
hosts: {"h[1-4]": {leaf: s1, rails: [{leaf: s2}]}}
nodes: {an-s1: {switch: s1}, an-s2: {switch: s2}, an-t1: {switch: t1}}
trees: 2
"""


class Good(unittest.TestCase):
    def shown(self, *words):
        done = fabric("show", *words)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def test_yaml(self):
        self.assertIn("\ntree 1: root an-root, 2 levels, at most 1 link up, serves 4 of 4 hosts\n"
                      "  an-root (root)\n    an-leaf1 (leaf1): 2 hosts: h1 h2\n    an-leaf2 (leaf2): 2 hosts: h3 h4\n", self.shown(SMALL))

    def test_ibnetdiscover(self):
        self.assertEqual(self.shown(RAILS).splitlines()[:2], [
            "fabric two-rails: 3 switches, 3 links, 3 hosts, 3 aggregation nodes, 1 plane", "links between switches: 3 of 200 Gbit/s"])

    def test_planes_take_turns(self):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write(PLANES)
            file.flush()
            self.assertEqual(re.findall(r"root (\S+),", self.shown(file.name)), ["an-s1", "an-s2"])

    def test_a_job(self):
        text = self.shown(SMALL, "--hosts", "h1,h2")
        self.assertIn("tree 1 for a job on 2 hosts: root an-leaf1, 1 level\n  an-leaf1 (leaf1): h1 h2\n", text)

    def test_a_picture(self):
        text = self.shown(RAILS, "--trees", 2, "--dot")
        self.assertTrue(text.startswith('graph "two-rails" {'))
        self.assertEqual(text.count("[color=gray]"), 3)
        self.assertEqual(text.count("{"), text.count("}"))
        if shutil.which("dot"):
            drawn = subprocess.run(["dot", "-Tsvg"], input=text, capture_output=True, text=True, check=False)
            self.assertEqual((drawn.returncode, drawn.stderr), (0, ""))


class Bounds(unittest.TestCase):
    FILES = ("fabric-8h-8spare", "fabric-8h-onhosts", "fabric-8h-2rails", "demo-16h-5ms")

    def bounds(self, *words):
        done = fabric("bounds", *words)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def test_the_table_of_the_docs_is_what_the_command_prints(self):
        """SUMAC_UPDATE_DOCS=1 writes the table."""
        text = "\n".join(f"```\n$ sumac fabric bounds lab/fabrics/{name}.yaml\n"
                         f"{self.bounds(ROOT / 'lab/fabrics' / (name + '.yaml'))}```\n" for name in self.FILES)
        path = ROOT / "docs/results/bounds.md"
        before, rest = path.read_text().split("<!-- bounds:begin -->\n")
        written, after = rest.split("<!-- bounds:end -->")
        if os.environ.get("SUMAC_UPDATE_DOCS"):
            path.write_text(before + "<!-- bounds:begin -->\n" + text + "<!-- bounds:end -->" + after)
            written = text
        self.assertEqual(written, text)

    def test_one_node_on_a_host_loses_and_says_from_where_on(self):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write('name: one\ndefaults: {rate: 60Mbit/s, delay: 50us}\nswitches: [s1]\n'
                       'hosts: {"h[1-8]": {leaf: s1}, x1: {leaf: s1, compute: false}}\nnodes: {an: {host: x1}}\n')
            file.flush()
            text = self.bounds(file.name)
        self.assertRegex(text, r"this file's 1 tree .* up to 150 B\n")
        self.assertIn("16 MiB: tree 17895.9 ms, ring of 8 hosts 3916.1 ms; beyond 150 B the hosts' own algorithms are faster, recursive doubling first\n", text)

    def test_programs_read_it_as_json(self):
        said = json.loads(self.bounds(ROOT / "lab/fabrics/fabric-8h-8spare.yaml", "--json"))
        self.assertEqual((said["fabric"], said["hosts"], said["trees"], said["tree_bytes_max"]), ("fabric-8h-8spare", 8, 8, None))
        m = 8 * (16 << 20) / 60e6
        for way, fixed_s, vectors in (("tree", 200e-6, 1), ("ring", 1400e-6, 1.75), ("halving", 600e-6, 1.75), ("doubling", 300e-6, 3)):
            self.assertAlmostEqual(said[way]["fixed_s"], fixed_s, 9, way)
            self.assertAlmostEqual(said[way]["per_byte_s"] * (16 << 20), vectors * m, 6, way)

    def test_a_small_operation_has_the_time_of_its_nodes(self):
        small = json.loads(self.bounds(ROOT / "lab/fabrics/demo-16h-500us.yaml", "--json"))["small"]
        links, passed = 2e-3, 3  # leaf, root, leaf
        self.assertAlmostEqual(small["asleep_s"], links + passed * 70e-6, 9)
        self.assertAlmostEqual(small["awake_s"], links + passed * 10e-6, 9)
        self.assertLess(small["kernels_s"], links + 5e-6)
        self.assertGreater(small["kernels_s"], links)

    def test_every_kind_has_its_bound(self):
        fabric_file = ROOT / "lab/fabrics/demo-16h-500us.yaml"
        kinds = json.loads(self.bounds(fabric_file, "--json"))["kinds"]
        self.assertEqual(set(kinds), {"allreduce", "reduce", "bcast", "allgather", "reduce_scatter_block"})
        hop, vector = 2e-3, 8 / 1e9
        for kind, own, fixed_s, per_byte_s in (("bcast", "a binomial tree of hosts", 4 * hop, 4 * vector),
                                               ("bcast", "a chain of hosts", 15 * hop, vector),
                                               ("reduce", "one host for all", hop, 15 * vector),
                                               ("allgather", "recursive doubling", 4 * hop, 15 / 16 * vector),
                                               ("reduce_scatter_block", "recursive halving", 4 * hop, 15 / 16 * vector)):
            self.assertAlmostEqual(kinds[kind]["own"][own]["fixed_s"], fixed_s, 9, kind)
            self.assertAlmostEqual(kinds[kind]["own"][own]["per_byte_s"] / per_byte_s, 1, 6, kind)
        for kind in kinds.values():
            self.assertAlmostEqual(kind["tree"]["fixed_s"], 2e-3, 9)
            self.assertAlmostEqual(kind["tree"]["per_byte_s"] / vector, 1, 6)
        text = self.bounds(fabric_file)
        for words in ("an allreduce", "a bcast or a reduce", "an allgather of so many bytes", "a reduce_scatter_block of so many bytes"):
            self.assertIn(f"least time of {words}", text)

    def test_a_part_of_the_hosts(self):
        self.assertIn(": 2 hosts with 1 port of ", self.bounds(SMALL, "--hosts", "h1,h3").splitlines()[0])


class Bad(unittest.TestCase):
    def refused(self, status, pattern, *words):
        done = fabric(*words)
        self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (status, "", 1), done)
        self.assertRegex(done.stderr, "^sumac: " + pattern)

    def test_words(self):
        for pattern, *words in (
                ("there is no command 'fabric list': see `sumac fabric help`", "list"),
                ("fabric show: name a fabric file, like fabric.yaml", "show"),
                ("fabric show: '--dto' is not understood", "show", SMALL, "--dto"),
                ("fabric show: '.*' is not understood", "show", SMALL, RAILS),
                ("fabric show: --trees needs a value", "show", SMALL, "--trees"),
                ("fabric show: --trees 0: a number of 1 to 1024", "show", SMALL, "--trees", 0),
                ("fabric show: --trees 99999999999: a number of 1 to 1024", "show", SMALL, "--trees", 99999999999),
                ("fabric show: --radix x: a number of 0 to 65535", "show", SMALL, "--radix", "x"),
                ("fabric bounds: '--dot' is not understood", "bounds", SMALL, "--dot"),
                ("fabric show: '--json' is not understood", "show", SMALL, "--json"),
                ("fabric bounds: name a fabric file", "bounds"),
                ("fabric show: --dot draws whole trees", "show", SMALL, "--dot", "--hosts", "h1")):
            self.refused(2, pattern, *words)

    def test_what_the_words_name(self):
        for pattern, *words in (
                ("open fabric file /nonexistent: No such file or directory", "/nonexistent"),
                (".* is a directory: name a fabric file", ROOT),
                ("fabric test-4h has no host h9: correct --hosts", SMALL, "--hosts", "h1,h9"),
                (".*: host h1 is twice in the job's list: name each once", SMALL, "--hosts", "h1,h1"),
                (".*: a radix of 1 makes no tree", SMALL, "--radix", 1),
                ("root_guids_file: open file of GUIDs /nonexistent: No such file", RAILS, "--root-guids", "/nonexistent"),
                (r"root_guids_file: .*:\d+: '.*' is no GUID: write one a line", RAILS, "--root-guids", SMALL)):
            self.refused(1, pattern, "show", *words)

    def test_files(self):
        good = RAILS.read_text()
        rows = (
            ("cut short", good[:1500], r":\d+: .*cut short"),
            ("twice the same", good + "\n" + good, r":\d+: S-e41d2d0300000010 .* stands here and in line 10: two devices have one GUID"),
            ("a line of noise", good.replace("vendid=0x2c9", "vendor=0x2c9", 1), r":6: not a line of ibnetdiscover"),
            ("nothing but a heading", good[:100], r":\d+: no device in the file"),
            ("a radix too small", None, "a radix of 2 leaves host"),
            ("no node", "name: f\nswitches: [s]\nhosts: {h1: {leaf: s}}\n", "fabric f has no aggregation node: name one under 'nodes'"),
            ("absurd", "name: f\nswitches: [s]\nhosts: {h1: {leaf: s}}\ntrees: 5000000000\n", ":4: trees: '5000000000' is not a number that fits"),
            ("bytes", "\0\x01\x02", ""))
        for name, text, pattern in rows:
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                file = pathlib.Path(folder) / "bad"
                if text is None:
                    file.write_text("name: f\nswitches: [s]\nhosts: {'h[1-9]': {leaf: s}}\nnodes: {an: {switch: s}}\nradix: 2\n")
                else:
                    file.write_text(text)
                self.refused(1, f".*{file}.*{pattern}" if pattern else f".*{file}", "show", file)


if __name__ == "__main__":
    unittest.main()
