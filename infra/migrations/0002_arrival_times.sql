-- Nothing became READY in the future, or an edition's window would never reach it.
create or replace function contents_ready() returns trigger language plpgsql as $$
begin
  new.ready_at := case when new.ready_at < now() + interval '1 day' then new.ready_at else now() end;
  return new;
end $$;
drop trigger contents_ready on contents;
create trigger contents_ready before insert or update of status, ready_at on contents
  for each row when (new.status = 'READY' or new.ready_at >= now() + interval '1 day')
  execute function contents_ready();

-- Nor did anybody get an item in the future, or before there were any.
create function items_created() returns trigger language plpgsql as $$
begin
  if new.created_at < '0001-01-01 00:00+00' or new.created_at >= now() + interval '1 day' then
    new.created_at := now();
  end if;
  return new;
end $$;
create trigger items_created before insert or update of created_at on items
  for each row when (new.created_at < '0001-01-01 00:00+00' or new.created_at >= now() + interval '1 day')
  execute function items_created();
