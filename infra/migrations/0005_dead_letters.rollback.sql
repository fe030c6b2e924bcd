drop view dead_letters;
drop index jobs_dead;
