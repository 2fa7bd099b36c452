"""What fault experiments share: load, upstreams, the release before."""
