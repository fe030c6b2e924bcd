drop table user_deletions;
drop index users_name;
