-- About how many of a user's texts hold a word that is in very many: a sixteenth of them, by the last digit of the id.
-- depends: 0001_house 0026_search

create index content_words_sample on content_words using gin (words) where right(content_id::text, 1) = '0';
