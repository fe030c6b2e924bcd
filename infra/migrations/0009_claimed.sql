-- Since when a job is in work: a renewed lease does not tell, and the timeline would have to be asked job by job.
-- depends: 0001_house

alter table jobs add column claimed_at timestamptz;
