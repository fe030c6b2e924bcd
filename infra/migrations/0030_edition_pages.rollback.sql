alter table editions drop column read_token;
