alter table feed_tokens drop column expires_at, drop column made_by;
alter table access_tokens drop column made_by;
