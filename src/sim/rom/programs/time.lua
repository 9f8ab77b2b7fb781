print("The time is " .. textutils.formatTime(os.time(), false) .. " on Day " .. os.day())
