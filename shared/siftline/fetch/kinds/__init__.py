"""Each kind of source: feed, site, web page, Reddit; and the discovery of feeds."""
