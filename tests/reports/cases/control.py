"""The control plane: what operators reported of nodes, leases, logs and the manager's state."""

from case import Case

CASES: list[Case] = [
    Case("O1 the end of a node that carries nothing of a job does not end it, and ranks of a job that ended read why", tests=r"^(topo|manager|proto|wire)_test\.|^badinput\.deaths$",
         kin="the same by the fabric file and SIGHUP; above a job's own root: it was right; a route to a leaf that the job does not use: mended with it"),
    Case("O2 new jobs go without a node that is silent for 3 s, running ones go on, and it is taken back", tests=r"^manager_test\.|^badinput\.deaths$",
         kin="a silent root or inner node: done without after 1 s if no job uses it; a broken link between two living nodes: the child is passed by; a reporter that was itself stopped: its clock's gap does not count"),
    Case("O3 numbers that a node still holds are given to no other job", tests=r"^manager_test\.|^badinput\.deaths$",
         kin="every change of the trees forgot what ended jobs hold, not only that of an idle manager; numbers of a former manager's jobs are given last, as before"),
    Case("O5 two sharpds with one host name are named in one line", tests=r"^manager_test\.|^badinput\.deaths$", kin="nodes are refused; a sharpd is not, since a host that was just started again has the same name"),
    Case("O7 a reason that changed is in the log, and the manager's line on TLS handshakes is in its log file", tests=r"^(hostd|daemons)_test\.",
         kin="sharp_an and sharpd; a daemon's last error was on stderr only, and is in the log file too"),
    Case("O11 a job goes on when its sharpd comes back while nodes still hold it", tests=r"^(manager|proto|daemons)_test\.|^badinput\.deaths$", kin="a sharpd that was started again: goes on too"),
    Case("O12 a sharpd whose host the fabric lacks says so, and its metric and doctor's row too", tests=r"^(manager|hostd)_test\.|^badinput\.deaths$", kin="a fabric file that is read again: it learns that, in both directions"),
    Case("O16 alerts say what is so, with rules for a lost tree, missing sharpds and a certificate's end; each daemon tells of its process",
         tests=r"^(metrics\.daemons|metrics_test\.Exporter\.says_when_the_certificate_ends_and_what_the_process_uses|metrics_test\.Process\..*)$", kin=""),
    Case("O18 the state directory stays small, and its errors name the file", tests=r"^manager_test\.", kin="put, remove and trees share the way"),
    Case("O19 a job's age survives the manager's restart, and its holder names Slurm's job", tests=r"^(manager|hostd)_test\.", kin=""),
]
