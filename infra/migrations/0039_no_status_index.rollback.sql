create index contents_not_ready on contents (status, created_at) where status in ('NEW', 'PENDING', 'PROCESSING');
