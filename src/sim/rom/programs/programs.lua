-- Shows the programs that can be run by name.
textutils.pagedTabulate(shell.programs((...) == "all"))
