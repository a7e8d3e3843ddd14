// Each collective against what it says: counts, in place, blocking and by requests, on one host and on several.
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <optional>

#include "bindings/c/test_team.hpp"

namespace sumac::c::test {
namespace {

using Values = std::vector<std::int64_t>;

enum Coll {
  barrier,
  bcast,
  allreduce,
  reduce,
  scan,
  exscan,
  reduce_scatter,
  allgather,
  alltoall,
  gather,
  scatter,
  allgatherv,
  alltoallv,
  kColls
};

/// The element at `at` of the input of a rank.
std::int64_t given(int rank, std::size_t at) { return static_cast<std::int64_t>(at % 11) + 100 * rank; }

struct Case {
  sumac_open_team_t* team;
  Coll coll;
  std::size_t count;
  int root;
  bool in_place, is_posted;
  int rank = sumac_team_rank(team), size = sumac_team_size(team);
  bool is_root = rank == root;
  std::size_t n = static_cast<std::size_t>(size), own = static_cast<std::size_t>(rank);
  std::int64_t unit = sizeof(std::int64_t);
  Values bytes{}, offsets{}, out_bytes{}, out_offsets{};

  Values input(std::size_t elements, int of) const {
    Values values(elements);
    for (std::size_t at = 0; at < elements; ++at) values[at] = given(of, at);
    return values;
  }
  /// The v-forms: what rank a has for rank b.
  std::size_t block(int a, int b) const { return count * static_cast<std::size_t>((a + 2 * b) % 3); }
  Values sum(std::size_t elements, int begin, int end) const {
    Values values(elements);
    for (int one = begin; one < end; ++one)
      for (std::size_t at = 0; at < elements; ++at) values[at] += given(one, at);
    return values;
  }

  void lay_out() {
    std::int64_t in_at = 0, out_at = 0;
    for (int one = 0; one < size; ++one) {
      const auto in_block = static_cast<std::int64_t>(coll == allgatherv ? block(one, 0) : block(rank, one)) * unit;
      const auto out_block = static_cast<std::int64_t>(coll == allgatherv ? block(one, 0) : block(one, rank)) * unit;
      bytes.push_back(in_block);
      offsets.push_back(in_at);
      out_bytes.push_back(out_block);
      out_offsets.push_back(out_at);
      in_at += in_block;
      out_at += out_block;
    }
  }

  /// Returns the input of this rank.
  Values in() const {
    switch (coll) {
      case bcast: return input(is_root ? count : 0, rank);
      case reduce_scatter:
      case alltoall: return input(n * count, rank);
      case scatter: return input(is_root ? n * count : 0, rank);
      case allgatherv: return input(block(rank, 0), rank);
      case alltoallv:
        return input(static_cast<std::size_t>(offsets.back() + bytes.back()) / sizeof(std::int64_t), rank);
      case barrier: return {};
      default: return input(count, rank);
    }
  }

  /// Returns the result of this rank; nothing: its memory is not defined.
  std::optional<Values> right() const {
    Values all;
    const auto append = [&](const Values& more, std::size_t from, std::size_t elements) {
      all.insert(all.end(), more.begin() + static_cast<std::ptrdiff_t>(from),
                 more.begin() + static_cast<std::ptrdiff_t>(from + elements));
    };
    switch (coll) {
      case barrier: return std::nullopt;
      case bcast: return input(count, root);
      case allreduce: return sum(count, 0, size);
      case reduce: return is_root ? std::optional(sum(count, 0, size)) : std::nullopt;
      case scan: return sum(count, 0, rank + 1);
      case exscan: return rank > 0 ? std::optional(sum(count, 0, rank)) : std::nullopt;
      case reduce_scatter: append(sum(n * count, 0, size), own * count, count); return all;
      case allgather:
      case gather:
        for (int one = 0; one < size; ++one) append(input(count, one), 0, count);
        return coll == allgather || is_root ? std::optional(all) : std::nullopt;
      case alltoall:
        for (int one = 0; one < size; ++one) append(input(n * count, one), own * count, count);
        return all;
      case scatter: append(input(n * count, root), own * count, count); return all;
      case allgatherv:
        for (int one = 0; one < size; ++one) append(input(block(one, 0), one), 0, block(one, 0));
        return all;
      case alltoallv:
        for (int one = 0; one < size; ++one) {
          std::size_t from = 0, whole = 0;
          for (int to = 0; to < size; ++to) {
            if (to < rank) from += block(one, to);
            whole += block(one, to);
          }
          append(input(whole, one), from, block(one, rank));
        }
        return all;
      case kColls: break;
    }
    return std::nullopt;
  }

  int call(const void* from, void* to, sumac_team_request_t** request) {
    const std::size_t block_bytes = count * sizeof(std::int64_t);
    switch (coll) {
      case barrier: return sumac_team_barrier(team, request);
      case bcast: return sumac_team_bcast(team, to, block_bytes, root, request);
      case allreduce: return sumac_team_allreduce(team, from, to, count, SUMAC_INT64, SUMAC_SUM, request);
      case reduce: return sumac_team_reduce(team, from, to, count, SUMAC_INT64, SUMAC_SUM, root, request);
      case scan: return sumac_team_scan(team, from, to, count, SUMAC_INT64, SUMAC_SUM, request);
      case exscan: return sumac_team_exscan(team, from, to, count, SUMAC_INT64, SUMAC_SUM, request);
      case reduce_scatter: return sumac_team_reduce_scatter(team, from, to, count, SUMAC_INT64, SUMAC_SUM, request);
      case allgather: return sumac_team_allgather(team, from, to, block_bytes, request);
      case alltoall: return sumac_team_alltoall(team, from, to, block_bytes, request);
      case gather: return sumac_team_gather(team, from, to, block_bytes, root, request);
      case scatter: return sumac_team_scatter(team, from, to, block_bytes, root, request);
      case allgatherv: return sumac_team_allgatherv(team, from, to, out_bytes.data(), out_offsets.data(), request);
      case alltoallv:
        return sumac_team_alltoallv(team, from, bytes.data(), offsets.data(), to, out_bytes.data(), out_offsets.data(),
                                    request);
      case kColls: break;
    }
    return SUMAC_ERR_INVALID;
  }

  void run() {
    SCOPED_TRACE(testing::Message() << "collective " << coll << " count " << count << " root " << root << " in place "
                                    << in_place << " posted " << is_posted);
    lay_out();
    const Values from = in();
    const std::optional<Values> expected = right();
    Values to(std::max(expected ? expected->size() : 0, n * count + from.size()), -1);
    const bool is_rooted = coll == reduce || coll == gather || coll == scatter;
    // In place, the input lies where the result goes; rank r's block of an allgather at its place.
    bool puts_in = in_place && coll != alltoallv && (!is_rooted || is_root);
    if (coll == bcast) puts_in = is_root;
    if (puts_in) {
      const bool is_at_own = coll == allgather || coll == gather;
      const std::size_t at = is_at_own            ? own * count
                             : coll == allgatherv ? static_cast<std::size_t>(out_offsets[own]) / sizeof(std::int64_t)
                                                  : 0;
      std::copy(from.begin(), from.end(), to.begin() + static_cast<std::ptrdiff_t>(at));
    }
    const void* const given_in = !puts_in ? from.data() : coll == scatter ? to.data() : nullptr;
    sumac_team_request_t* request = nullptr;
    ASSERT_EQ(call(given_in, to.data(), is_posted ? &request : nullptr), SUMAC_OK) << sumac_team_why(team);
    if (is_posted) {
      int status = SUMAC_IN_PROGRESS;
      if (count % 2 == 0) status = sumac_team_wait(request);
      while (status == SUMAC_IN_PROGRESS) status = sumac_team_test(request);
      ASSERT_EQ(status, SUMAC_OK) << sumac_team_why(team);
    }
    if (!expected) return;
    // The root of a scatter in place keeps its own block where it lies.
    const std::size_t at = coll == scatter && puts_in ? own * count : 0;
    for (std::size_t i = 0; i < expected->size(); ++i) ASSERT_EQ(to[at + i], (*expected)[i]) << "element " << i;
  }
};

void all_collectives(sumac_open_team_t* team) {
  for (const std::size_t count : {0, 1, 7, 3000})
    for (int coll = 0; coll < kColls; ++coll)
      for (int form = 0; form < 4; ++form) {
        Case{team, static_cast<Coll>(coll), count, (coll + form) % sumac_team_size(team), (form & 1) != 0, form > 1}
            .run();
        if (testing::Test::HasFatalFailure()) return;
      }
}

TEST(Collectives, OfOneHost) { run("aaa", all_collectives); }
TEST(Collectives, OfARankAHost) { run("abc", all_collectives); }
TEST(Collectives, OfTwoRanksAndOne) { run("aab", all_collectives); }
TEST(Collectives, OfOneRank) { run("a", all_collectives); }

/// Variables of the ranks that a test starts.
struct Environment {
  std::vector<std::pair<const char*, const char*>> variables;
  Environment(std::initializer_list<std::pair<const char*, const char*>> given) : variables(given) {
    for (const auto& [name, value] : variables) ::setenv(name, value, 1);
  }
  ~Environment() {
    for (const auto& [name, value] : variables) ::unsetenv(name);
  }
};

/// The team's daemons are started for it.
TEST(Collectives, ByATreeOfTheTeam) {
  const Environment tree{{"HCOLL_ENABLE_SHARP", "3"}, {"HCOLL_SHARP_NP", "2"}, {"SUMAC_HOME", SUMAC_BINARY_DIR}};
  if (::access(SUMAC_BINARY_DIR "/bin/sumac", X_OK) != 0) GTEST_SKIP() << "the daemons are not built";
  run("aab", all_collectives);
}

/// 1 and 3 in each type, as bytes.
const struct {
  sumac_type type;
  std::vector<unsigned char> one, three;
} kTypes[] = {
    {SUMAC_UINT32, {1, 0, 0, 0}, {3, 0, 0, 0}},
    {SUMAC_INT32, {1, 0, 0, 0}, {3, 0, 0, 0}},
    {SUMAC_UINT64, {1, 0, 0, 0, 0, 0, 0, 0}, {3, 0, 0, 0, 0, 0, 0, 0}},
    {SUMAC_INT64, {1, 0, 0, 0, 0, 0, 0, 0}, {3, 0, 0, 0, 0, 0, 0, 0}},
    {SUMAC_FLOAT32, {0, 0, 0x80, 0x3f}, {0, 0, 0x40, 0x40}},
    {SUMAC_FLOAT64, {0, 0, 0, 0, 0, 0, 0xf0, 0x3f}, {0, 0, 0, 0, 0, 0, 0x08, 0x40}},
    {SUMAC_UINT16, {1, 0}, {3, 0}},
    {SUMAC_INT16, {1, 0}, {3, 0}},
    {SUMAC_FLOAT16, {0, 0x3c}, {0, 0x42}},
    {SUMAC_BFLOAT16, {0x80, 0x3f}, {0x40, 0x40}},
    {SUMAC_UINT8, {1}, {3}},
    {SUMAC_INT8, {1}, {3}},
};

TEST(Collectives, OfEveryType) {
  run("aaa", [](sumac_open_team_t* team) {
    for (const auto& row : kTypes) {
      SCOPED_TRACE(row.type);
      std::vector<unsigned char> out(row.one.size());
      EXPECT_EQ(sumac_team_allreduce(team, row.one.data(), out.data(), 1, row.type, SUMAC_SUM, nullptr), SUMAC_OK);
      EXPECT_EQ(out, row.three);
      EXPECT_EQ(sumac_team_allreduce(team, row.one.data(), out.data(), 1, row.type, SUMAC_PROD, nullptr), SUMAC_OK);
      EXPECT_EQ(out, row.one);
    }
  });
}

TEST(Collectives, OfEveryOperation) {
  run("aaa", [](sumac_open_team_t* team) {
    const std::int32_t in = 3 << sumac_team_rank(team);  // 3, 6, 12
    const struct {
      sumac_reduction op;
      std::int32_t right;
    } rows[] = {{SUMAC_MAX, 12}, {SUMAC_MIN, 3}, {SUMAC_SUM, 21}, {SUMAC_PROD, 216}, {SUMAC_LAND, 1},
                {SUMAC_BAND, 0}, {SUMAC_LOR, 1}, {SUMAC_BOR, 15}, {SUMAC_LXOR, 1},   {SUMAC_BXOR, 9}};
    for (const auto& row : rows) {
      std::int32_t out = -1;
      EXPECT_EQ(sumac_team_allreduce(team, &in, &out, 1, SUMAC_INT32, row.op, nullptr), SUMAC_OK);
      EXPECT_EQ(out, row.right) << row.op;
    }
  });
}

}  // namespace
}  // namespace sumac::c::test
