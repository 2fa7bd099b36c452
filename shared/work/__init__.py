"""Due work and chores: leases, retries, quarantine, and who is alive."""
