drop table provider_requests;
drop table content_entities;
drop table entity_aliases;
drop table entities;
