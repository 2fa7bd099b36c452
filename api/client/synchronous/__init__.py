"""The client for programs that wait; made from the other one."""
