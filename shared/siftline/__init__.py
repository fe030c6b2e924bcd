"""Siftline: takes in what people follow and save, reads it for them, and hands it back ranked, searchable and grouped.

A message walks forward through the rooms:

- ``contracts``: every queue message and every job type, in flow order.
- ``settings``: one typed settings class a function; the only reader of the environment.
- ``api``: routes by resource, authentication, problem documents.
- ``schedule``: due sources, the sweep, clean-up; what the clock starts.
- ``fetch``: a source's feed in, its new entries saved with their jobs.
- ``ingest``: a page in, its metadata and main text stored.
- ``analyze``: vector, topics, summary, tags, language of a text, and whom it names.
- ``resolve``: who the organisations are that texts name: one id for all names of one.
- ``cluster``: a user's contents grouped into labelled clusters.
- ``rank``: what comes first in search and in the feed.
- ``jobs``: how a job lives: store, publish, consume, sweep (docs/jobs.md).
- ``worker``: the same handlers on one machine or on Fargate, by long poll.
- ``kit``: what has no word of the field in it: database, clock, errors, log, HTTP, AWS and vector clients.

Imports go one way: ``functions -> rooms -> jobs -> kit``; a room never imports another room.
"""
