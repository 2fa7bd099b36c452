"""One adapter per logbook software, by the contract of shared/adapter_contract."""
