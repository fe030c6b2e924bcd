create index contents_topics on contents using gin (topics jsonb_path_ops);
