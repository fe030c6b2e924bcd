delete from feed_states where kind not in ('feed', 'editions');
comment on column feed_states.kind is null;
alter table feed_states add constraint feed_states_kind_check check (kind in ('feed', 'editions'));
drop table folder_sources, folders;
drop function folder_key;
