alter table editions drop column looked_at;
