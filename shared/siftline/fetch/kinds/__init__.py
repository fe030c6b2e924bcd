"""A fetcher and a parser for each kind of source (feed or site, page of links, Reddit), and what finds feeds."""
