alter table fetch_hosts drop column refused;
alter table fetch_hosts drop column refusal_ratio;
alter table fetch_hosts drop column answered_by;
alter table fetch_hosts drop column answered_at;
