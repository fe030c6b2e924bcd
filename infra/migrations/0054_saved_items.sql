-- So that the pages that a user saved by hand are counted from an index alone.
-- depends: 0001_house

create index items_saved on items (user_id) where saved;
