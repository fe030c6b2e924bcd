drop table embedding_refusals;
drop index embeddings_version;
alter table embeddings drop column text_version;
drop table embedding_versions;
