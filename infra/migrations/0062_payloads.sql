-- A job's payload is an object: one that was none stopped the hand-out of every other job of its batch.
-- depends: 0001_house

update jobs set payload = '{}' where jsonb_typeof(payload) <> 'object';
alter table jobs add constraint jobs_payload_is_an_object check (jsonb_typeof(payload) = 'object');
