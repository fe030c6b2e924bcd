-- What PostgreSQL allows in a column and no program of ours can read, is neither kept nor taken any more. Existing rows
-- are put right first; the constraints are not valid, so that none is read again while the tables are locked.
create function is_flat(list anyarray) returns boolean language sql immutable parallel safe as
  $$ select case when array_ndims(list) > 1 then false else array_position(list, null) is null end $$;
comment on function is_flat is 'whether an array has one dimension and no null in it';
create function flat(list anyarray) returns anyarray language sql immutable parallel safe as
  $$ select array_remove(array(select unnest(list)), null) $$;

-- Midnight at the end of a day is the next one's beginning.
update briefings set at = '00:00', weekday = weekday % 7 + 1, next_due_at = null where at = '24:00';
update editions set document = '{}' where jsonb_typeof(document) <> 'object';
update editions set looked_at = flat(looked_at) where not is_flat(looked_at);
update clusters set keywords = flat(keywords) where not is_flat(keywords);
update topic_sets set only_topics = flat(only_topics) where not is_flat(only_topics);
update access_tokens set scopes = flat(scopes) where not is_flat(scopes);
update user_deletions set source_ids = flat(source_ids) where not is_flat(source_ids);
update idempotency_keys set item_ids = flat(item_ids) where not is_flat(item_ids);
-- Made anew when the text changes.
delete from content_signatures where not (is_flat(hashes) and is_flat(bands));
update content_signatures set analysed = null where not is_flat(analysed);

alter table briefings add constraint briefings_at_is_of_the_day check (at < '24:00') not valid;
alter table editions
  add constraint editions_document_is_an_object check (jsonb_typeof(document) = 'object') not valid,
  add constraint editions_looked_at_is_flat check (is_flat(looked_at)) not valid;
alter table clusters add constraint clusters_keywords_are_flat check (is_flat(keywords)) not valid;
alter table topic_sets add constraint topic_sets_only_topics_are_flat check (is_flat(only_topics)) not valid;
alter table access_tokens add constraint access_tokens_scopes_are_flat check (is_flat(scopes)) not valid;
alter table user_deletions add constraint user_deletions_source_ids_are_flat check (is_flat(source_ids)) not valid;
alter table idempotency_keys add constraint idempotency_keys_item_ids_are_flat check (is_flat(item_ids)) not valid;
alter table content_signatures
  add constraint content_signatures_are_flat check (is_flat(hashes) and is_flat(bands) and is_flat(analysed)) not valid;

drop function flat;
