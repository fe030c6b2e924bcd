-- The code before knows no queue but its own.
update jobs set queue = 'analysis', published_at = null
where queue = 'analysis-background' and state in ('pending', 'processing');

drop trigger contents_words on contents;
create or replace function contents_words() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' or old.status <> 'READY' or (old.title, old.summary, old.tags, old.description, old.text, old.lang)
    is distinct from (new.title, new.summary, new.tags, new.description, new.text, new.lang)
  then
    perform search_read(new);
  end if;
  return null;
end
$$;
create trigger contents_words after insert or update of status, title, summary, tags, description, text, lang
  on contents for each row when (new.status = 'READY') execute function contents_words();
