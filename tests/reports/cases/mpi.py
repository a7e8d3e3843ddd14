"""MPI programs: M1 to M7 and E1, E2."""

from case import Case

CASES: list[Case] = [
    Case("M2 and E1 communicators, types and operations may be freed under pending and persistent collectives", tests=r"^(pmpi\.programs|pmpi\.lab|component\.one_host)$",
         kin="the interposed libraries: MPI_Comm_disconnect (waits for what is posted), persistent requests that live in MPI_Finalize, an operation that was not posted "
             "(freed twice), MPI_Comm_revoke beside lanes (null pointer); right before: derived types, user operations, the component, libsharp_coll's comm_destroy"),
    Case("M3 and E2 a wait for persistent collectives of the MPI never becomes a test of an array", tests=r"^pmpi\.programs$",
         kin="MPI_Waitany and MPI_Waitsome, MPI_Testall, MPI_Testany and MPI_Testsome beside collectives of ours, neighbors' persistent collectives, "
             "a wait in which all is ours and the MPI's messages stood still"),
    Case("M2, M3, E1 and E2 programs drawn from 200 seeds give what they must wherever Sumac serves them, or fail with the MPI alone too",
         program=("random_programs.py", "--seeds", "200", "--minutes", "60"), minutes=75),
]
