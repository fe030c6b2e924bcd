set local lock_timeout = '5s';

-- A word of Latin, Cyrillic or digits that touches a writing without spaces is a word of its own, and so are C++ and C#
-- there, also written wide, as Japanese has them. siftline.text.words.signed spaces what is searched for the same way.
create function search_narrow(words text) returns text language sql immutable parallel safe as $$
  select case when words ~ '[＋＃]' then translate(words,
    'ＡＢＣＤＥＦＧＨＩＪＫＬＭＮＯＰＱＲＳＴＵＶＷＸＹＺａｂｃｄｅｆｇｈｉｊｋｌｍｎｏｐｑｒｓｔｕｖｗｘｙｚ０１２３４５６７８９＋＃',
    'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+#') else words end
$$;
create function search_spaced(words text) returns text language sql immutable parallel safe as $$
  select case when words ~ paired then regexp_replace(words,
    format('(%1$s)(?=(?!%1$s)[[:alnum:]+#])|((?!%1$s)[[:alnum:]+#])(?=%1$s)', paired), '\1\2 ', 'g') else words end
  from (values (
    '[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff]'
  )) as scripts (paired)
$$;
create or replace function search_cut(words text, chars integer) returns text
language sql immutable parallel safe as $$
  select regexp_replace(search_parted(search_signed(search_spaced(search_narrow(left(coalesce(words, ''), chars))))),
    '(\S{100})', '\1 ', 'g')
$$;

-- Texts with such words are read again.
do $$ begin
  perform search_read(content) from contents content
  cross join lateral concat_ws(' ', title, summary, description, text, array_to_string(tags, ' ')) words
  where words <> search_spaced(search_narrow(words));
end $$;
