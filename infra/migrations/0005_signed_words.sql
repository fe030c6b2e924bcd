set local lock_timeout = '5s';

-- C++ and C# are words of their own, and no C. siftline.text.words.signed writes what is searched for the same way; a
-- word with digits is reduced by no grammar.
create function search_signed(words text) returns text language sql immutable parallel safe as $$
  select case when words ~ '[+#]' then regexp_replace(regexp_replace(words,
      '(?<![[:alnum:]_])([A-Za-z][A-Za-z0-9]*)\+\+(?!\+)', '\10plus0 ', 'g'),
      '(?<![[:alnum:]_])([A-Za-z])#(?![[:alpha:]_#])', '\10sharp0 ', 'g') else words end
$$;
create or replace function search_cut(words text, chars integer) returns text
language sql immutable parallel safe as $$
  select regexp_replace(search_parted(search_signed(left(coalesce(words, ''), chars))), '(\S{100})', '\1 ', 'g')
$$;

-- What was read as C and F before is read again: the index tells which texts those may be.
do $$ begin
  perform search_read(content) from contents content
  where id in (select content_id from content_words where words @@ 'c | f'::tsquery)
    and concat_ws(' ', title, summary, description, text, array_to_string(tags, ' ')) ~ '[A-Za-z](\+\+|#)';
end $$;
