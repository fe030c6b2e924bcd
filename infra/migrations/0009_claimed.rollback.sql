alter table jobs drop column claimed_at;
