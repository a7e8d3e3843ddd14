"""Operators: O1 to O20."""

from case import Case

CASES: list[Case] = [
    Case("O4 a node that is told no address tells its children the one towards its manager, also on hosts of IPv6 alone", tests=r"badinput\.addresses|OwnAddress",
         kin="a node that starts before its network, with the manager's address among several networks, beside its manager; ucx's device; a Python job's manager"),
    Case("O6 the page counts all nodes and hosts of the fabric, and names those that are missing", tests=r"page\.api",
         kin="search left out nodes that are away; the drawing put them over the switch's name; a node that has left the fabric file is not counted (browser_test.py)"),
    Case("O8 a rank's failure names its host, at the begin of a job and later", tests=r"Oob\.|Job\.TravelsWhole|ADeadRankIsNamedAtTheOthers|WorldAmiss",
         kin="all agreements of ranks (devices, connections to nodes, groups); verdicts of clients without MPI, whose names only MPI's bindings had"),
    Case("O9 hosts of `sumac run` may share TMPDIR", tests=r"badinput\.hosts", kin="the folder of the manager is its machine's own in any case"),
    Case("O10 SLURM_EXPORT_ENV without ALL is treated as --export without ALL", tests=r"LauncherWords|Choose",
         kin="env -i, -genvnone and --export gave no line either where Open MPI's component serves the program"),
    Case("O13 names of hosts are as long as the domain name system has them, IPv6 addresses stand in brackets, and a refusal says the limit", tests=r"HostList|badinput\.hosts",
         kin="a host's name of 59 to 63 letters gave its node a name that the fabric refuses; host files; the hosts of `sumac doctor`"),
    Case("O14 sharp_cmd topology shows parent, state, link and address of a node in each of its trees", tests=r"page\.api", kin="sharp_cmd trees and the page were right"),
    Case("O15 `sumac run` behind srun or mpirun starts no daemons for each task, and task 0 says so", tests=r"Task\.|badinput\.starts", kin="Open MPI's and hydra's launchers"),
    Case("O17 a refusal by the default share names its option", tests=r"quota|Quota", kin="the refusals by a user's share named theirs"),
    Case("O20 the fabric of `sumac up` has the machine's name", tests=r"badinput\.up", kin="one host's name that is no name of a fabric"),
    Case("portability 8 a lab in a plain chroot says how to mend it, and --name stands before or behind the command", tests=r"badinput\.lab", kin="the options of other commands stand behind them only, as their help says"),
    Case("security 14 the token of the page is in no command and in no file that others read", tests=r"page\.api", kin="the token of /metrics in its page"),
    Case("security 18 Ctrl-C ends `sumac run` while a name is looked up", tests=r"badinput\.starts|OwnAddress", kin="run-host and run-manager, and sharp_an at its start"),
]
