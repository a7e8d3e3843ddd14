#include "client/requests.hpp"

#include <gtest/gtest.h>

#include <set>

namespace sumac::client {
namespace {

TEST(Requests, AHandleIsGoodUntilItIsFreed) {
  RequestPool pool(nullptr);
  Request* request = pool.take();
  void* handle = request->handle();
  ASSERT_NE(handle, nullptr);
  EXPECT_EQ(request_table().find(handle), request);
  pool.put(request);
  EXPECT_EQ(request_table().find(handle), nullptr);
  Request* again = pool.take();
  EXPECT_EQ(again, request) << "the slot is used again";
  EXPECT_NE(again->handle(), handle) << "its handle is another";
  EXPECT_EQ(request_table().find(handle), nullptr);
  pool.put(again);
}

TEST(Requests, WhatIsNoHandleIsNotFound) {
  for (const std::uint64_t word :
       {std::uint64_t{1} << 32, ~std::uint64_t{0}, std::uint64_t{0xFFFFFFFF}, std::uint64_t{0x7f0012345678}})
    EXPECT_EQ(request_table().find(reinterpret_cast<void*>(word)), nullptr) << word;
}

TEST(Requests, HandlesOfManyAreDifferentAndSlotsComeBackWithTheirContext) {
  std::set<void*> handles;
  {
    RequestPool one(nullptr), other(nullptr);
    for (int i = 0; i < 600; ++i) {
      handles.insert(one.take()->handle());
      handles.insert(other.take()->handle());
    }
    EXPECT_EQ(handles.size(), 1200u);
    for (void* handle : handles) EXPECT_NE(request_table().find(handle), nullptr);
  }
  for (void* handle : handles) EXPECT_EQ(request_table().find(handle), nullptr) << "its context is gone";
  RequestPool next(nullptr);
  for (int i = 0; i < 600; ++i) EXPECT_EQ(handles.count(next.take()->handle()), 0u);
}

TEST(Requests, ASlotThatRanOutOfGenerationsIsNeverUsedAgain) {
  Request* worn = nullptr;
  {
    RequestPool pool(nullptr);
    worn = pool.take();
    worn->generation.store(0xFFFFFFFF);
    void* last = worn->handle();
    EXPECT_EQ(request_table().find(last), worn);
    pool.put(worn);
    EXPECT_EQ(request_table().find(last), nullptr);
    for (int i = 0; i < 200; ++i) EXPECT_NE(pool.take(), worn);
  }
  RequestPool next(nullptr);  // It gets the batch with the worn slot.
  for (int i = 0; i < 200; ++i) EXPECT_NE(next.take(), worn);
}

}  // namespace
}  // namespace sumac::client
