alter table embedding_refusals drop column tries;
