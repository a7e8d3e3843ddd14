"""Teams of communicators and the record of their calls: M4, M5, M7 and T8."""

from case import Case

CASES: list[Case] = [
    Case("M4 a rank that other processes may no longer read goes on through shared memory", tests=r"^(shm_test\.Refusal\.|component\.one_host$)",
         kin="every collective of single copy, 2 and 3 members, in place and not: a right that the process itself gives up, and a refusal that only the "
             "reader sees, in the middle of an operation. A buffer whose inside is closed goes the same way. The p2p messages and the tree copy nothing "
             "between processes. Left: a right that is taken away within one reduction in place still ends the group, with the reason"),
    Case("M5 a team ends with its communicator, whatever another module holds", tests=r"^component\.one_host$",
         kin="lanes of persistent collectives and the scratch memory end there too; the interposed libraries have no module that another one could hold"),
    Case("M7 a communicator that is used a few times costs no team", tests=r"^(component\.one_host|pmpi\.programs|rank_test\.Settings\..*|rank_test\.Tally\..*)$",
         kin="counted alike at all ranks: rooted and nonblocking collectives, calls that the MPI turns away at one rank, Open MPI's own collectives; "
             "persistent ones and levels that must have a group make it at once"),
    Case("T8 counts and displacements have 64 bits", tests=r"^(python\.team|pmpi\.programs|shm_test\..*)$",
         kin="MPI-4's functions: a displacement beyond an int at one rank alone left the MPI's call to that rank, and all hung. Packed data of more than 2**31 "
             "elements was refused by the component and overflowed in the interposed library. Messages between hosts go in pieces that an int counts"),
]
