-- depends: 0038_no_topics_index

-- Most entries of feeds make rows of two to four kilobytes, and to compress these cost more than all else that
-- their row costs: rows of up to half a page stay as they are. Longer ones, as those with a page's text, are compressed
-- and stored apart as before.
alter table contents set (toast_tuple_target = 4080);
