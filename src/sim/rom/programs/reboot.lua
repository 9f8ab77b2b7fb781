print("Goodbye")
sleep(1)
os.reboot()
