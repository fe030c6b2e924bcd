drop trigger contents_words on contents;
drop function contents_words, search_read;
drop table search_spellings, content_words;
drop function search_vector, search_cut, search_parted, search_grammar;
do $$
declare
  name text;
begin
  for name in select cfgname from pg_ts_config where cfgname like 'siftline\_%' loop
    execute format('drop text search configuration %I', name);
  end loop;
end
$$;
drop extension pg_trgm;
drop extension unaccent;
