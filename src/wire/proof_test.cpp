#include "wire/proof.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace sumac::wire {
namespace {

const Secret kKey{1, 2, 3};
const ProofTerms kTerms{.tree_id = TreeId{7},
                        .hello = {.job_id = JobId{42}, .nonce = {1}, .id = 5},
                        .welcome = {.nonce = {2}, .id = NodeId{21}},
                        .address = "tcp:10.0.0.1:7000"};

TEST(Proof, holds_for_its_own_connection_and_side_only) {
  for (const auto side : {ProvingSide::parent, ProvingSide::child}) {
    Mac proof;
    ASSERT_TRUE(make_proof(side, kKey, kTerms, proof));
    EXPECT_TRUE(proves(side, kKey, kTerms, proof));
    const auto other_side = side == ProvingSide::parent ? ProvingSide::child : ProvingSide::parent;
    EXPECT_FALSE(proves(other_side, kKey, kTerms, proof)) << "it can be said back to the one that made it";

    const struct {
      const char* what;
      std::function<void(ProofTerms&)> change;
    } rows[] = {
        {"tree", [](ProofTerms& t) { t.tree_id = TreeId{8}; }},
        {"job", [](ProofTerms& t) { t.hello.job_id = JobId{number_of(t.hello.job_id) + 1}; }},
        {"the child's nonce", [](ProofTerms& t) { ++t.hello.nonce[15]; }},
        {"role", [](ProofTerms& t) { t.hello.role = Role::node; }},
        {"world rank", [](ProofTerms& t) { ++t.hello.id; }},
        {"the child's version", [](ProofTerms& t) { ++t.hello.version; }},
        {"the child's options", [](ProofTerms& t) { ++t.hello.options; }},
        {"the parent's nonce", [](ProofTerms& t) { ++t.welcome.nonce[0]; }},
        {"the parent's id", [](ProofTerms& t) { t.welcome.id = NodeId{22}; }},
        {"the parent's version", [](ProofTerms& t) { ++t.welcome.version; }},
        {"the parent's options", [](ProofTerms& t) { ++t.welcome.options; }},
        {"another port", [](ProofTerms& t) { t.address = "tcp:10.0.0.1:7001"; }},
        {"no address", [](ProofTerms& t) { t.address = ""; }},
    };
    for (const auto& row : rows) {
      auto terms = kTerms;
      row.change(terms);
      EXPECT_FALSE(proves(side, kKey, terms, proof)) << row.what;
    }
    auto with_proof = kTerms;
    with_proof.welcome.proof = proof;
    EXPECT_TRUE(proves(side, kKey, with_proof, proof)) << "a welcome's own proof is not part of what it proves";

    for (std::size_t bit = 0; bit < 8 * kKey.size(); ++bit) {
      auto key = kKey;
      key[bit / 8] ^= static_cast<std::uint8_t>(1u << bit % 8);
      EXPECT_FALSE(proves(side, key, kTerms, proof)) << bit;
    }
    for (std::size_t bit = 0; bit < 8 * proof.size(); ++bit) {
      auto changed = proof;
      changed[bit / 8] ^= static_cast<std::uint8_t>(1u << bit % 8);
      EXPECT_FALSE(proves(side, kKey, kTerms, changed)) << bit;
    }
  }
}

TEST(Proof, an_address_without_end_proves_nothing) {
  const std::string address(5000, 'x');
  auto terms = kTerms;
  terms.address = address;
  Mac proof;
  EXPECT_FALSE(make_proof(ProvingSide::child, kKey, terms, proof));
  EXPECT_FALSE(proves(ProvingSide::child, kKey, terms, Mac{}));
}

TEST(PairKey, is_another_one_for_each_pair_direction_and_tree) {
  const auto key = [](const Secret& parent_key, std::uint32_t tree, std::uint32_t child, std::uint32_t parent) {
    Secret made{};
    EXPECT_TRUE(make_pair_key(parent_key, TreeId{tree}, NodeId{child}, NodeId{parent}, made));
    return made;
  };
  const auto of_2_and_1 = key(kKey, 7, 2, 1);
  EXPECT_EQ(of_2_and_1, key(kKey, 7, 2, 1));
  EXPECT_NE(of_2_and_1, kKey);
  EXPECT_NE(of_2_and_1, key(kKey, 7, 3, 1));
  EXPECT_NE(of_2_and_1, key(kKey, 7, 2, 3));
  EXPECT_NE(of_2_and_1, key(kKey, 7, 1, 2));
  EXPECT_NE(of_2_and_1, key(kKey, 8, 2, 1));
  EXPECT_NE(of_2_and_1, key(Secret{9}, 7, 2, 1));
}

}  // namespace
}  // namespace sumac::wire
