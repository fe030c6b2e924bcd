-- A content is found by its words as soon as its text is stored, before it is read; summary and tags follow.
-- depends: 0026_search

-- Words are made when they are there and when they change; a status alone changes none.
create or replace function contents_words() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT'
    or (old.title, old.summary, old.tags, old.description, old.text, old.lang)
      is distinct from (new.title, new.summary, new.tags, new.description, new.text, new.lang)
    or not exists (select from content_words where content_id = new.id)
  then
    perform search_read(new);
  end if;
  return null;
end
$$;

do $$
begin
  perform search_read(contents) from contents
  where status <> 'READY' and text is not null
    and not exists (select from content_words where content_id = contents.id);
end
$$;
drop trigger contents_words on contents;
create trigger contents_words after insert or update of status, title, summary, tags, description, text, lang
  on contents for each row when (new.status = 'READY' or new.text is not null) execute function contents_words();
-- What was stored while the others were looked through.
do $$
begin
  perform search_read(contents) from contents
  where status <> 'READY' and text is not null
    and not exists (select from content_words where content_id = contents.id);
end
$$;
