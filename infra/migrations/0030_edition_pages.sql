-- A page of each edition for a browser, which sends no bearer token: who has the address may read it.
-- depends: 0001_house 0023_briefings

alter table editions add column read_token text;
update editions set read_token = translate(gen_random_uuid()::text || gen_random_uuid()::text, '-', '');
alter table editions alter column read_token set not null, add unique (read_token);
comment on column editions.read_token is 'the end of its page''s address: enough to read this edition, and nothing else';
