-- No statement looks for contents by this index of their status, and each of a content's changes was written into it.
-- depends: 0038_no_topics_index

drop index contents_not_ready;
