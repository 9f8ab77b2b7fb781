shell.exit()
