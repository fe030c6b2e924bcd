-- Full text beside vectors: what a content's words are, by the grammar of its language, and which words there are.
-- depends: 0001_house

create extension if not exists unaccent;
create extension if not exists pg_trgm;

-- Each language's stemmer behind unaccent: as a filtering dictionary it changes what is looked up, not the text.
do $$
declare
  name text;
begin
  foreach name in array array['arabic', 'armenian', 'basque', 'catalan', 'danish', 'dutch', 'english', 'finnish',
    'french', 'german', 'greek', 'hindi', 'hungarian', 'indonesian', 'irish', 'italian', 'lithuanian', 'nepali',
    'norwegian', 'portuguese', 'romanian', 'russian', 'serbian', 'simple', 'spanish', 'swedish', 'tamil', 'turkish',
    'yiddish']
  loop
    execute format('create text search configuration %I (copy = pg_catalog.%I)', 'siftline_' || name, name);
    execute format('alter text search configuration %I alter mapping for hword, hword_part, word with unaccent, %I',
      'siftline_' || name, case name when 'simple' then name else name || '_stem' end);
  end loop;
end
$$;

-- The grammar of a language (ISO 639-1); the simple one, which stems nothing, where there is none.
create function search_grammar(lang text) returns text language sql immutable parallel safe as $$
  select 'siftline_' || case lang
    when 'ar' then 'arabic' when 'hy' then 'armenian' when 'eu' then 'basque' when 'ca' then 'catalan'
    when 'da' then 'danish' when 'nl' then 'dutch' when 'en' then 'english' when 'fi' then 'finnish'
    when 'fr' then 'french' when 'de' then 'german' when 'el' then 'greek' when 'hi' then 'hindi'
    when 'hu' then 'hungarian' when 'id' then 'indonesian' when 'ga' then 'irish' when 'it' then 'italian'
    when 'lt' then 'lithuanian' when 'ne' then 'nepali' when 'no' then 'norwegian' when 'nb' then 'norwegian'
    when 'nn' then 'norwegian' when 'pt' then 'portuguese' when 'ro' then 'romanian' when 'ru' then 'russian'
    when 'sr' then 'serbian' when 'es' then 'spanish' when 'sv' then 'swedish' when 'ta' then 'tamil'
    when 'tr' then 'turkish' when 'yi' then 'yiddish' else 'simple' end
$$;

-- Writings that part no words by spaces, and Hangul, whose words grow endings: overlapping pairs of characters, in order.
-- abc becomes "a ab bc c"; siftline.rank.query makes the same pairs of what is looked for.
create function search_parted(words text) returns text language sql immutable parallel safe as $$
  select regexp_replace(words,
    '([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff])',
    '\1 \1', 'g')
$$;

-- What has no space for long is parted too: the parser takes the square of the length of a chain-of-words-like-this.
create function search_cut(words text, chars integer) returns text language sql immutable parallel safe as $$
  select regexp_replace(search_parted(left(coalesce(words, ''), chars)), '(\S{100})', '\1 ', 'g')
$$;

-- Title before summary and tags before the page's own description before the text. Every part is cut so that no page,
-- whatever it holds, comes near the 1 MiB that a tsvector may have.
create function search_vector(
  grammar regconfig, title text, summary text, tags text[], description text, words text
) returns tsvector language sql stable parallel safe as $$
  select setweight(to_tsvector(grammar, search_cut(title, 1000)), 'A')
    || setweight(to_tsvector(grammar, search_cut(summary, 2000) || ' ' || search_cut(array_to_string(tags, ' '), 2000)), 'B')
    || setweight(to_tsvector(grammar, search_cut(description, 1000)), 'C')
    || setweight(to_tsvector(grammar, search_cut(words, 50000)), 'D')
$$;

-- In a table of its own: contents are updated often, and each time every lexeme would be indexed anew. Vectors lie out
-- of line, so that what is found is joined without reading them.
create table content_words (
  content_id uuid primary key references contents on delete cascade,
  grammar text not null,
  words tsvector not null
) with (toast_tuple_target = 128);
alter table content_words alter column words set storage external;
create index content_words_words on content_words using gin (words);
create index content_words_grammar on content_words (grammar);

-- Words as they are written, without accents, of whatever was read: what a mistyped one is compared with. Everybody's,
-- and shown to nobody: a word counts only where the one who looks for it has an item that holds it.
create table search_spellings (
  word text primary key
);
create index search_spellings_trigrams on search_spellings using gin (word gin_trgm_ops);

create function search_read(content contents) returns void language plpgsql as $$
declare
  grammar text := search_grammar(content.lang);
  found tsvector;
  spelt tsvector;
begin
  begin
    found := search_vector(grammar::regconfig, content.title, content.summary, content.tags, content.description,
      content.text);
    spelt := found;
    if grammar <> 'siftline_simple' then
      spelt := search_vector('siftline_simple', content.title, content.summary, content.tags, null, content.text);
    end if;
  exception when program_limit_exceeded then
    found := search_vector(grammar::regconfig, content.title, null, null, null, null);
    spelt := found;
  end;
  insert into content_words as held (content_id, grammar, words) values (content.id, grammar, found)
  on conflict (content_id) do update set grammar = excluded.grammar, words = excluded.words
    where (held.grammar, held.words) is distinct from (excluded.grammar, excluded.words);
  -- In order, so that two writers wait for each other and do not deadlock.
  insert into search_spellings (word)
  select word from unnest(tsvector_to_array(spelt)) as spelling (word)
  where length(word) between 4 and 30 and word !~ '[^[:alpha:]]' and search_parted(word) = word
    and not exists (select from search_spellings as known where known.word = spelling.word)
  order by word on conflict (word) do nothing;
end
$$;

create function contents_words() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' or old.status <> 'READY' or (old.title, old.summary, old.tags, old.description, old.text, old.lang)
    is distinct from (new.title, new.summary, new.tags, new.description, new.text, new.lang)
  then
    perform search_read(new);
  end if;
  return null;
end
$$;

do $$
begin
  perform search_read(contents) from contents where status = 'READY';
end
$$;
create trigger contents_words after insert or update of status, title, summary, tags, description, text, lang
  on contents for each row when (new.status = 'READY') execute function contents_words();
-- What became READY while the others were read.
do $$
begin
  perform search_read(contents) from contents
  where status = 'READY' and not exists (select from content_words where content_id = contents.id);
end
$$;
