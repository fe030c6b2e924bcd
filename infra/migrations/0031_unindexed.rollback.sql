drop trigger contents_unindexed on contents;
drop function unindexed_of_contents();
drop table unindexed;
