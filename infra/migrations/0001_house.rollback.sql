drop table cluster_memberships, clusters, cluster_runs, idempotency_keys, job_events, jobs, source_entries, items,
  topic_means, embeddings, derivations, content_revisions, contents, subscriptions, sources, access_tokens, users;
