// The bytes on the wire must not change unnoticed: every kind is compared with its golden bytes, which
// SUMAC_WRITE_GOLDEN=1 rewrites; the difference then belongs in the commit, and from the first release on
// kAggVersion must be raised.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "base/bytes.hpp"
#include "wire/agg_codec.hpp"
#include "wire/hop_frame.hpp"
#include "wire/host_codec.hpp"
#include "wire/peer.hpp"
#include "wire/proof.hpp"
#include "wire/samples.hpp"
#include "wire/test_docs.hpp"

namespace sumac::wire {
namespace {

const std::filesystem::path kSource = SUMAC_SOURCE_DIR;
bool writing() { return std::getenv("SUMAC_WRITE_GOLDEN") != nullptr; }

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Writes 16 bytes a line; a run of lines that are all zero becomes one line `zeros N`.
std::string to_golden(std::span<const std::byte> bytes) {
  std::string text;
  std::size_t zeros = 0;
  const auto flush = [&] {
    if (zeros > 0) text += fmt::format("zeros {}\n", std::exchange(zeros, 0));
  };
  for (std::size_t at = 0; at < bytes.size(); at += 16) {
    const auto line = bytes.subspan(at, std::min<std::size_t>(16, bytes.size() - at));
    if (std::all_of(line.begin(), line.end(), [](std::byte b) { return b == std::byte{0}; })) {
      zeros += line.size();
      continue;
    }
    flush();
    text += hex(line) + "\n";
  }
  flush();
  return text;
}

class Golden : public testing::TestWithParam<Sample> {};

TEST_P(Golden, BytesAreUnchanged) {
  const auto path = kSource / "src/wire/testdata" / (GetParam().name + ".hex");
  const std::string now = to_golden(GetParam().bytes);
  if (writing()) std::ofstream(path) << now;
  EXPECT_EQ(now, read_file(path)) << "SUMAC_WRITE_GOLDEN=1 writes it, if the change is meant";
}

std::vector<Sample> all_samples() {
  auto all = agg_samples();
  for (auto& sample : host_samples()) all.push_back(std::move(sample));
  for (auto& sample : peer_samples()) all.push_back(std::move(sample));
  for (auto& sample : hop_samples()) all.push_back(std::move(sample));
  return all;
}

std::string test_name(const testing::TestParamInfo<Sample>& info) {
  std::string name = info.param.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Kinds, Golden, testing::ValuesIn(all_samples()), test_name);

TEST(Golden, EveryKindHasASample) {
  std::set<int> agg, host, peer;
  for (const auto& sample : agg_samples()) agg.insert(std::to_integer<int>(sample.bytes[3]));
  for (const auto& sample : host_samples()) host.insert(std::to_integer<int>(sample.bytes[3]));
  for (const auto& sample : peer_samples()) peer.insert(std::to_integer<int>(sample.bytes[3]));
  EXPECT_EQ(peer, (std::set<int>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}));
  EXPECT_EQ(agg, (std::set<int>{1, 2, 3, 4, 7, 8, 9, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25}));
  EXPECT_EQ(host, (std::set<int>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}));
}

TEST(Golden, NoFileIsLeftOver) {
  std::set<std::string> names;
  for (const auto& sample : all_samples()) names.insert(sample.name + ".hex");
  for (const auto& entry : std::filesystem::directory_iterator(kSource / "src/wire/testdata"))
    EXPECT_TRUE(names.count(entry.path().filename().string())) << entry.path() << " belongs to no sample";
}

// The fuzzers start from good messages of every kind: a valid prefix gets them past the first checks.
TEST(Golden, EverySampleIsAFuzzersSeed) {
  for (const auto& [folder, samples] :
       {std::pair{"agg", agg_samples()}, std::pair{"host", host_samples()}, std::pair{"datagram", datagram_samples()},
        std::pair{"peer", peer_samples()}, std::pair{"hop_frame", hop_samples()}}) {
    const auto corpus = kSource / "tests/corpus" / folder;
    for (const auto& sample : samples) {
      const std::string bytes(reinterpret_cast<const char*>(sample.bytes.data()), sample.bytes.size());
      if (writing()) std::ofstream(corpus / sample.name, std::ios::binary) << bytes;
      EXPECT_EQ(bytes, read_file(corpus / sample.name)) << sample.name << ": SUMAC_WRITE_GOLDEN=1 writes it";
    }
  }
}

// That the rows of a struct cover all its bytes is a static_assert of SUMAC_LAYOUT; here the page must have each kind and struct.
TEST(Docs, EveryKindAndByteIsInThePage) {
  const std::string page = wire_markdown();
  const auto row = [&](auto kind) {
    EXPECT_NE(page.find(fmt::format("\n| {} | {} |", static_cast<int>(kind), to_string(kind))), std::string::npos)
        << to_string(kind);
  };
  for (const auto& sample : agg_samples()) row(static_cast<AggKind>(std::to_integer<int>(sample.bytes[3])));
  for (const auto& sample : host_samples()) row(static_cast<HostKind>(std::to_integer<int>(sample.bytes[3])));
  for (const auto& sample : peer_samples()) row(static_cast<PeerKind>(std::to_integer<int>(sample.bytes[3])));
  const auto section = [&](const char* name, std::size_t bytes, std::span<const FieldRow> rows) {
    EXPECT_NE(page.find(fmt::format("\n## {}: {} bytes\n", name, bytes)), std::string::npos) << name;
    for (const auto& field : rows)
      EXPECT_NE(page.find(fmt::format("| {} | {} |\n", field.name, field.meaning)), std::string::npos) << name;
  };
#define SUMAC_SECTION(Struct) section(#Struct, sizeof(Struct), layout<Struct>())
  SUMAC_SECTION(AggHeader);
  SUMAC_SECTION(HopHeader);
  SUMAC_SECTION(HelloBody);
  SUMAC_SECTION(WelcomeBody);
  SUMAC_SECTION(ProofBody);
  SUMAC_SECTION(NameBody);
  SUMAC_SECTION(OpenBody);
  SUMAC_SECTION(OpenedBody);
  SUMAC_SECTION(JoinBody);
  SUMAC_SECTION(JoinedBody);
  SUMAC_SECTION(RefusedBody);
  SUMAC_SECTION(TroubleBody);
  SUMAC_SECTION(OverBody);
  SUMAC_SECTION(InvitedBody);
  SUMAC_SECTION(HostHeader);
  SUMAC_SECTION(PeerHeader);
  SUMAC_SECTION(AbortBody);
  SUMAC_SECTION(MessageBody);
#undef SUMAC_SECTION
}

}  // namespace
}  // namespace sumac::wire
