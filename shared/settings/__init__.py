"""Every setting: where its value comes from, its bounds and its description."""
