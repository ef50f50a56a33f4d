"""From nested SOACs to segmented operations; see `flatten.driver`."""
