! Maps x -> a x + b, composed by an operation of the program's own, which does not commute: in each form, with the
! operation freed while it is in use. Prints "own_fortran: right on N ranks".
module maps
  implicit none
contains
  subroutine compose(in, inout, count, datatype)
    integer, intent(in) :: count, datatype
    integer, intent(in) :: in(2, count)
    integer, intent(inout) :: inout(2, count)
    integer :: i
    do i = 1, count
      inout(2, i) = inout(1, i) * in(2, i) + inout(2, i)
      inout(1, i) = inout(1, i) * in(1, i)
    end do
    if (datatype == -1) print *, 'never'
  end subroutine
end module

program own
  use mpi
  use maps
  implicit none
  integer, parameter :: elements = 300
  integer :: rank, ranks, code, op, request, i, r
  integer :: given(2, elements), got(2, elements), posted(2, elements), want(2, elements), next(2)
  call MPI_Init(code)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, code)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, code)
  do i = 1, elements
    given(:, i) = map(rank, i)
    want(:, i) = map(0, i)
    do r = 1, ranks - 1
      next = map(r, i)
      want(2, i) = next(1) * want(2, i) + next(2)
      want(1, i) = next(1) * want(1, i)
    end do
  end do
  call MPI_Op_create(compose, .false., op, code)
  call MPI_Allreduce(given, got, elements, MPI_2INTEGER, op, MPI_COMM_WORLD, code)
  posted = given
  call MPI_Iallreduce(MPI_IN_PLACE, posted, elements, MPI_2INTEGER, op, MPI_COMM_WORLD, request, code)
  call MPI_Op_free(op, code)
  call MPI_Wait(request, MPI_STATUS_IGNORE, code)
  if (any(got /= want) .or. any(posted /= want)) call MPI_Abort(MPI_COMM_WORLD, 3, code)
  if (rank == 0) print '(a,i0,a)', 'own_fortran: right on ', ranks, ' ranks'
  call MPI_Finalize(code)
contains
  ! Small enough for the composition of eight maps.
  function map(r, i)
    integer, intent(in) :: r, i
    integer :: map(2)
    map = [mod(r * 7 + i, 5) + 1, mod(r * 3 + i, 11)]
  end function
end program
