#include "base/hmac.hpp"

#include <gtest/gtest.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "base/bytes.hpp"

namespace sumac {
namespace {

std::vector<std::uint8_t> repeated(std::size_t times, std::uint8_t byte) { return std::vector(times, byte); }
std::vector<std::uint8_t> text(const std::string& s) { return {s.begin(), s.end()}; }

/// It stands first: OpenSSL would read its configuration once in a process, when its first provider is loaded.
TEST(Hmac, reads_no_configuration_of_openssl) {
  std::string path = testing::TempDir() + "openssl.cnf-XXXXXX";
  const int file = ::mkstemp(path.data());
  ASSERT_GE(file, 0);
  ::close(file);
  const int events = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  ASSERT_GE(events, 0);
  ASSERT_GE(::inotify_add_watch(events, path.c_str(), IN_OPEN), 0);
  ::setenv("OPENSSL_CONF", path.c_str(), 1);
  Mac mac{};
  ASSERT_TRUE(prepare_hmac());
  EXPECT_TRUE(hmac_sha256(repeated(20, 1), {}, mac));
  alignas(inotify_event) char opened[512];
  EXPECT_EQ(::read(events, opened, sizeof opened), -1) << "somebody has opened it";
  ::unsetenv("OPENSSL_CONF");
  ::close(events);
  ::unlink(path.c_str());
}

// These are the test cases 1 to 4, 6 and 7 of RFC 4231.
TEST(Hmac, gives_what_the_rfc_says) {
  std::vector<std::uint8_t> counted;
  for (std::uint8_t i = 1; i <= 25; ++i) counted.push_back(i);
  const struct {
    std::vector<std::uint8_t> key, message;
    const char* mac;
  } rows[] = {
      {repeated(20, 0x0b), text("Hi There"), "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"},
      {text("Jefe"), text("what do ya want for nothing?"),
       "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"},
      {repeated(20, 0xaa), repeated(50, 0xdd), "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"},
      {counted, repeated(50, 0xcd), "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"},
      {repeated(131, 0xaa), text("Test Using Larger Than Block-Size Key - Hash Key First"),
       "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"},
      {repeated(131, 0xaa),
       text("This is a test using a larger than block-size key and a larger than block-size data. The key needs to be "
            "hashed before being used by the HMAC algorithm."),
       "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"},
  };
  const auto prepared = prepare_hmac();
  ASSERT_TRUE(prepared) << prepared.error().context;
  for (const auto& row : rows) {
    Mac mac{};
    ASSERT_TRUE(hmac_sha256(row.key, std::as_bytes(std::span(row.message)), mac));
    EXPECT_EQ(hex(std::as_bytes(std::span(mac)), ""), row.mac);
  }
}

}  // namespace
}  // namespace sumac
