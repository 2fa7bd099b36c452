"""The process of a worker: its messages, tasks, memory and end."""
