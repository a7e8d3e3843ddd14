// Calls every collective so many times in each form that a total shows which forms it contains: 1 blocking, 10
// nonblocking ones, 100 persistent operations that are made and started once. The line of MPI_Finalize counts them;
// settings_test.py reads it.
#include <fmt/core.h>
#include <mpi.h>

#include <cstdio>

#include "tests/host/plain.hpp"

using sumac::tests::Coll;
using sumac::tests::Form;
using sumac::tests::Plain;

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const struct {
    Form form;
    unsigned times;
  } rows[] = {{Form::blocking, 1}, {Form::nonblocking, 10}, {Form::persistent, 100}};
  for (const auto& [form, times] : rows) {
    for (int c = 0; c < sumac::tests::kColls; ++c) {
      for (unsigned call = 1; call <= times; ++call) {
        Plain plain(static_cast<Coll>(c), 64, MPI_COMM_WORLD);
        plain.fill(call);
        const int rc = plain.run(form);
        const auto wrong = rc == MPI_SUCCESS ? plain.check(call) : fmt::format("MPI's error {}", rc);
        if (wrong.empty()) continue;
        fmt::print(stderr, "tallied: WRONG, {} {}: {}\n", to_string(form), to_string(static_cast<Coll>(c)), wrong);
        MPI_Abort(MPI_COMM_WORLD, 3);
      }
    }
  }
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) fmt::print("tallied: all right\n");
  MPI_Finalize();
  return 0;
}
