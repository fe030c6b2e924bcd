"""States, as a statement asks for them of jobs that it knows by their ids.

Asked for in this way no partial index answers. Of what came since the last ANALYZE the planner knows nothing: it would
take an index over the jobs that wait for nearly empty, and read all of them to find a few by their ids.
"""

PENDING = "(select 'pending'::text)"
FAILED = "(select 'failed'::text)"
