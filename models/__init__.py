"""Which models there are, where their files lie, and how to run one."""
