-- How often a model was asked for the vector of a text in vain: it is asked again ever later.
-- depends: 0001_house 0021_embedding_versions

alter table embedding_refusals add column tries integer not null default 1 check (tries > 0);
