alter table sources drop column candidates;
alter table sources drop column feed_url;
alter table sources drop column options;
