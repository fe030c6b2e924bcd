alter table jobs alter column state set statistics -1, alter column published_at set statistics -1;
