"""The rows of the conformance kit, by what they are about."""
