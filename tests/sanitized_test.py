#!/usr/bin/env python3
"""Tests tests/sanitized.py: every report counts, except a data race whose two accesses were both made by foreign code."""
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.dont_write_bytecode = True
import sanitized  # noqa: E402

THEIRS = """WARNING: ThreadSanitizer: data race (pid=7)
  Write of size 8 at 0x7b1 by thread T3:
    #0 free ../../../../src/libsanitizer/tsan/tsan_interceptors_posix.cpp:706 (libtsan.so.2+0x4b2d)
    #1 <null> <null> (libgrpc.so.29+0x1a2b)

  Previous read of size 8 at 0x7b1 by main thread:
    #0 memcpy ../../../../src/libsanitizer/sanitizer_common/sanitizer_common_interceptors.inc:827 (libtsan.so.2+0x6243)
    #1 grpc::ByteBuffer::Clear() /usr/include/grpcpp/support/byte_buffer.h:133 (manager_test+0x99)

  Thread T3 (tid=9, running) created by main thread at:
    #0 pthread_create ../../../../src/libsanitizer/tsan/tsan_interceptors_posix.cpp:969 (libtsan.so.2+0x605b)
    #1 sumac::manager::Service::start() ../../src/manager/service.cpp:70 (manager_test+0x77)

SUMMARY: ThreadSanitizer: data race (/lib/x86_64-linux-gnu/libgrpc.so.29+0x1a2b)
"""
LINE = "    #1 <null> <null> (libgrpc.so.29+0x1a2b)"


class Reports(unittest.TestCase):
    def test_a_race_inside_a_library_is_not_ours_whoever_made_its_thread(self):
        self.assertFalse(sanitized.is_ours(THEIRS))

    def test_one_frame_of_ours_in_one_access_is_enough(self):
        for frame in ("    #2 sumac::base::Log::say() ../../src/base/log.cpp:12 (manager_test+0x1)",
                      f"    #2 sumac::base::Log::say() {sanitized.SOURCE}/src/base/log.hpp:12 (manager_test+0x1)",
                      "    #2 sumac::control::v1::Link::Clear() src/control/generated/control.pb.cc:12:3 (sharp_am+0x1)",
                      "    #2 a line that this does not understand"):
            self.assertTrue(sanitized.is_ours(THEIRS.replace(LINE, f"{LINE}\n{frame}")), frame)

    def test_a_race_of_which_one_stack_is_lost_counts(self):
        stack = THEIRS[THEIRS.index("    #0 memcpy"):THEIRS.index("\n\n  Thread T3")]
        self.assertTrue(sanitized.is_ours(THEIRS.replace(stack, "    [failed to restore the stack]")))
        self.assertTrue(sanitized.is_ours(THEIRS.replace("Previous read", "As if synchronized via sleep")))

    def test_other_reports_count_whoever_is_in_them(self):
        for kind in ("ThreadSanitizer: heap-use-after-free", "AddressSanitizer: heap-buffer-overflow", "LeakSanitizer: detected memory leaks"):
            self.assertTrue(sanitized.is_ours(THEIRS.replace("ThreadSanitizer: data race", kind)), kind)

    def test_memory_lost_in_an_mpi_program_is_ours_if_the_component_took_it(self):
        theirs = """==1==ERROR: LeakSanitizer: detected memory leaks

Direct leak of 16 byte(s) in 1 object(s) allocated from:
    #0 0x7f1 in __interceptor_malloc ../../../../src/libsanitizer/asan/asan_malloc_linux.cpp:69
    #1 0x7f2 in opal_init (/lib/x86_64-linux-gnu/libopen-pal.so.40+0x1)
    #2 0x5f3 in main ../../tests/host/cases.cpp:300
"""
        ours = theirs + """
Indirect leak of 8 byte(s) in 1 object(s) allocated from:
    #0 0x7f1 in operator new(unsigned long) ../../../../src/libsanitizer/asan/asan_new_delete.cpp:99
    #1 0x7f2 in sumac::team::create() ../../src/team/create.cpp:20
"""
        handed_on = theirs.replace("    #2", "    #2 0x7f4 in NBC_Sched_commit (/usr/lib/openmpi3/mca_coll_libnbc.so+0x776e)\n"
                                   "    #3 0x7f5 in reduce_init ../../bindings/mpi/collectives/reduce.c:40\n    #4")
        self.assertFalse(sanitized.is_ours(handed_on))
        self.assertTrue(sanitized.is_ours(handed_on.replace("libnbc", "hcoll")))
        self.assertFalse(sanitized.is_ours(theirs))
        self.assertTrue(sanitized.is_ours(ours))

    def test_memory_lost_by_the_libraries_of_another_program_counts(self):
        self.assertTrue(sanitized.is_ours("""==1==ERROR: LeakSanitizer: detected memory leaks

Direct leak of 16 byte(s) in 1 object(s) allocated from:
    #0 0x7f1 in __interceptor_malloc ../../../../src/libsanitizer/asan/asan_malloc_linux.cpp:69
    #1 0x7f2 in grpc_init (/lib/x86_64-linux-gnu/libgrpc.so.29+0x1)
"""))

    def test_all_reports_of_all_processes_are_judged(self):
        with tempfile.TemporaryDirectory() as folder:
            line = "=" * 18 + "\n"
            ours = THEIRS.replace(LINE, f"{LINE}\n    #2 f() ../../src/base/log.cpp:12 (x+0x1)")
            pathlib.Path(folder, "report.sharp_an.12").write_text(line + THEIRS + line + line + ours + line + "ThreadSanitizer: reported 2 warnings\n", encoding="utf-8")
            pathlib.Path(folder, "report.sharpd.13").write_text(line + "ERROR: LeakSanitizer: detected memory leaks\n", encoding="utf-8")
            count, foreign = sanitized.judge(pathlib.Path(folder))
            self.assertEqual((len(count), len(foreign)), (2, 1))
            self.assertIn("report.sharpd.13", count[1])

    def test_every_process_writes_into_an_empty_folder(self):
        with tempfile.TemporaryDirectory() as folder:
            old = pathlib.Path(folder, "of", "before")
            old.mkdir(parents=True)
            variables = sanitized.environment(old.parent)
            self.assertFalse(old.exists())
            self.assertIn(f"log_path={old.parent}/report", variables["ASAN_OPTIONS"])


if __name__ == "__main__":
    unittest.main()
