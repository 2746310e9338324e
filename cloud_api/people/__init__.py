"""The people of a household: users, their devices, how devices are paired, and the
server's own certificate."""
