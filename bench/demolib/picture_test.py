import re
import unittest
import xml.etree.ElementTree

from demolib import picture

ENTRY = {"case": "a <case>", "unit": "ms", "sumac": 2.5, "limit": 2.0, "bare": None, "sumac_lib": None, "best_tuned": "Open MPI allreduce 1",
         "peers": {"Open MPI default": 10.0, "Open MPI allreduce 1": 5.0}}


class Picture(unittest.TestCase):
    def test_what_has_no_number_has_no_bar_and_lengths_are_in_proportion(self):
        text = picture.draw([ENTRY])
        xml.etree.ElementTree.fromstring(text)
        widths = [float(width) for width in re.findall(r'<rect x="\d+" y="\d+" width="([\d.]+)"', text)]
        self.assertEqual(len(widths), 4)  # limit, default, tuned, Sumac
        self.assertAlmostEqual(widths[0] / widths[1], 0.2, places=2)
        self.assertAlmostEqual(widths[3] / widths[2], 0.5, places=2)

    def test_without_a_time_of_sumac_there_is_no_picture(self):
        self.assertEqual(picture.draw([{**ENTRY, "sumac": None}, {**ENTRY, "unit": "share"}]), "")


if __name__ == "__main__":
    unittest.main()
