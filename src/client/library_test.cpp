// The shared objects from outside: exactly the right symbols, under each name, loaded and unloaded again and again. The
// test links none of them.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sharp/api/sharp.h>
#include <sharp/api/sumac_ext.h>

#include <cstring>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <thread>

#include "client/world/test_daemons.hpp"

namespace sumac::client::test {
namespace {

const std::string kLibraries = SUMAC_BINARY_DIR "/lib/";

std::string output_of(const std::string& command) {
  std::string text;
  FILE* pipe = ::popen(command.c_str(), "r");
  char part[512];
  while (std::fgets(part, sizeof part, pipe) != nullptr) text += part;
  ::pclose(pipe);
  return text;
}

std::set<std::string> symbols_of(const std::string& library) {
  std::istringstream words(output_of("nm -D --defined-only --format=just-symbols " + kLibraries + library));
  std::set<std::string> symbols;
  for (std::string name; words >> name;) symbols.insert(name.substr(0, name.find('@')));
  return symbols;
}

TEST(Libraries, ShowExactlyTheInterface) {
  std::set<std::string> expected = {"sharp_coll_default_config"};
  for (const char* name : {"init",
                           "finalize",
                           "caps_query",
                           "progress",
                           "comm_init",
                           "comm_destroy",
                           "do_barrier",
                           "do_barrier_nb",
                           "do_allreduce",
                           "do_allreduce_nb",
                           "do_reduce",
                           "do_reduce_nb",
                           "do_reduce_scatter",
                           "do_reduce_scatter_nb",
                           "do_allgather",
                           "do_allgather_nb",
                           "do_bcast",
                           "do_bcast_nb",
                           "req_test",
                           "req_wait",
                           "req_free",
                           "reg_mr",
                           "reg_mr_v2",
                           "dereg_mr",
                           "print_config",
                           "strerror",
                           "dump_stats",
                           "log_early_init"})
    expected.insert(std::string("sharp_coll_") + name);
  EXPECT_EQ(expected.size(), 29u) << "27 functions, the one that old clients call, the data symbol";
  for (const char* name : {"sumac_req_status", "sumac_req_sleep", "sumac_comm_error", "sumac_coll_wait_fd",
                           "sumac_coll_arm", "sumac_coll_enable_threads", "sumac_coll_set_bell", "sumac_comm_leave_nb",
                           "sumac_comm_query_info", "sumac_comm_explain", "sumac_coll_query_stats"})
    expected.insert(name);
  EXPECT_EQ(symbols_of("libsharp_coll.so"), expected);
  EXPECT_EQ(symbols_of("libsharp.so"), std::set<std::string>{"sharp_init_session"});
}

TEST(Libraries, NeedNothingHeavy) {
  for (const char* library : {"libsharp_coll.so", "libsharp.so"}) {
    const auto needed = output_of("readelf -d " + kLibraries + library + " | grep NEEDED");
    for (const char* heavy : {"grpc", "protobuf", "ucp", "ucs", "sqlite", "yaml"})
      EXPECT_EQ(needed.find(heavy), std::string::npos) << needed;
  }
}

TEST(Libraries, EachNameIsTheSameLibrary) {
  void* first = ::dlopen((kLibraries + "libsharp_coll.so").c_str(), RTLD_NOW);
  ASSERT_NE(first, nullptr) << ::dlerror();
  for (const char* name : {"libsharp_coll.so.5", "libsharp_coll.so.4"}) {
    void* same = ::dlopen((kLibraries + name).c_str(), RTLD_NOW);
    EXPECT_EQ(same, first) << name;
    ::dlclose(same);
  }
  EXPECT_THAT(output_of("readelf -d " + kLibraries + "libsharp_coll.so | grep SONAME"),
              testing::HasSubstr("libsharp_coll.so.5"));
  ::dlclose(first);
}

bool is_mapped() {
  std::stringstream maps;
  maps << std::ifstream("/proc/self/maps").rdbuf();
  return maps.str().find("libsharp_coll") != std::string::npos;
}

std::size_t count_of(const char* path) {
  return static_cast<std::size_t>(std::stoul(output_of(std::string("ls ") + path + " | wc -l")));
}

template <class F>
F symbol(void* library, const char* name) {
  auto* address = ::dlsym(library, name);
  EXPECT_NE(address, nullptr) << name;
  return reinterpret_cast<F>(address);
}

TEST(Libraries, LoadUseAndUnloadAgainAndAgain) {
  const Daemons daemons({.leaves = {"leaf1"}});
  ::setenv("SHARP_COLL_SHARPD_SOCKET_NAME", daemons.socket_of(0).c_str(), 1);
  for (int round = 0; round < 3; ++round) {
    const auto descriptors = count_of("/proc/self/fd");
    void* library = ::dlopen((kLibraries + "libsharp_coll.so").c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << ::dlerror();
    ASSERT_TRUE(is_mapped());
    EXPECT_EQ(symbol<decltype(&sharp_coll_log_early_init)>(library, "sharp_coll_log_early_init")(), 0);
    EXPECT_STREQ(symbol<decltype(&sharp_coll_strerror)>(library, "sharp_coll_strerror")(-8),
                 "Cannot connect to SHArPD");

    sharp_coll_init_spec spec{};  // A single rank, which has no out-of-band functions.
    spec.job_id = 1000u + static_cast<unsigned>(round);
    spec.world_size = 1;
    spec.config = *symbol<const sharp_coll_config*>(library, "sharp_coll_default_config");
    sharp_coll_context* context = nullptr;
    ASSERT_EQ(symbol<decltype(&sharp_coll_init)>(library, "sharp_coll_init")(&spec, &context), 0) << daemons.log();
    sharp_coll_comm_init_spec group{};
    group.size = 1;
    sharp_coll_comm* comm = nullptr;
    ASSERT_EQ(symbol<decltype(&sharp_coll_comm_init)>(library, "sharp_coll_comm_init")(context, &group, &comm), 0)
        << daemons.log();
    EXPECT_EQ(symbol<decltype(&sharp_coll_do_barrier)>(library, "sharp_coll_do_barrier")(comm), 0);
    EXPECT_EQ(count_of("/proc/self/task"), 1u) << "no thread of the library's";
    EXPECT_EQ(symbol<decltype(&sharp_coll_comm_destroy)>(library, "sharp_coll_comm_destroy")(comm), 0);
    EXPECT_EQ(symbol<decltype(&sharp_coll_finalize)>(library, "sharp_coll_finalize")(context), 0);
    EXPECT_EQ(::dlclose(library), 0);
    EXPECT_FALSE(is_mapped()) << "something keeps it loaded";
    EXPECT_EQ(count_of("/proc/self/fd"), descriptors);
  }
}

TEST(Libraries, PrintConfigHasEachVariableOnceAndHiddenOnesOnDemand) {
  void* library = ::dlopen((kLibraries + "libsharp_coll.so").c_str(), RTLD_NOW);
  ASSERT_NE(library, nullptr);
  const auto print = symbol<decltype(&sharp_coll_print_config)>(library, "sharp_coll_print_config");
  const auto printed = [&](int flags) {
    char* text = nullptr;
    std::size_t bytes = 0;
    FILE* stream = ::open_memstream(&text, &bytes);
    EXPECT_EQ(print(stream, static_cast<config_print_flags>(flags), nullptr), 0);
    std::fclose(stream);
    std::string copy(text, bytes);
    std::free(text);
    return copy;
  };
  const auto plain = printed(SHARP_COLL_CONFIG_PRINT_CONFIG);
  EXPECT_THAT(plain, testing::HasSubstr("SHARP_COLL_SAT_THRESHOLD=16384\n"));
  EXPECT_THAT(plain, testing::HasSubstr("SHARP_COLL_PIPELINE_DEPTH=64\n"));
  EXPECT_THAT(plain, testing::Not(testing::HasSubstr("SHARP_COLL_MAX_SEND_WR")));
  EXPECT_THAT(plain, testing::Not(testing::HasSubstr("#")));
  EXPECT_THAT(printed(SHARP_COLL_CONFIG_PRINT_CONFIG | SHARP_COLL_CONFIG_PRINT_HIDDEN),
              testing::HasSubstr("SHARP_COLL_MAX_SEND_WR=64\n"));
  EXPECT_THAT(printed(SHARP_COLL_CONFIG_PRINT_CONFIG | SHARP_COLL_CONFIG_PRINT_DOC), testing::HasSubstr("# "));
  EXPECT_EQ(printed(SHARP_COLL_CONFIG_PRINT_HEADER).substr(0, 1), "#");
  ::dlclose(library);
}

TEST(Libraries, InitSessionAsksForSharpd) {
  const auto load = [] { return ::dlopen((kLibraries + "libsharp.so").c_str(), RTLD_NOW); };
  void* library = load();
  ASSERT_NE(library, nullptr) << ::dlerror();
  const auto ask = symbol<decltype(&sharp_init_session)>(library, "sharp_init_session");
  ::setenv("SHARP_COLL_SHARPD_SOCKET_NAME", "/nonexistent/sharpd.sock", 1);
  testing::internal::CaptureStderr();
  EXPECT_EQ(ask(), SHARP_COLL_ESESS_INIT);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::HasSubstr("SHARPD"));
  const Daemons daemons({.leaves = {"leaf1"}});
  ::setenv("SHARP_COLL_SHARPD_SOCKET_NAME", daemons.socket_of(0).c_str(), 1);
  EXPECT_EQ(ask(), 0);
  ::dlclose(library);
}

}  // namespace
}  // namespace sumac::client::test
