"""Siftline: takes in what people follow and save, reads it for them, and hands it back ranked, searchable and grouped.

A message walks forward through the rooms:

- ``contracts``: every queue message and every job type, in flow order.
- ``settings``: one typed settings class a function; the only reader of the environment.
- ``api``: a package a resource, and ``http``: what all routes share.
- ``schedule``: due sources, the sweep, clean-up; what the clock starts.
- ``fetch``: ``kinds`` of sources, the ``feed`` they bring, and what becomes of a ``poll``.
- ``ingest``: a ``page`` or ``media`` in, its metadata and text stored once (``duplicates``).
- ``analyze``: a ``text``'s language, summary and tags, its ``topics`` and ``entities``, and what an ``llm`` adds.
- ``resolve``: who the organisations are that texts name: one id for all names of one.
- ``cluster``: a user's contents grouped into stories and labelled clusters.
- ``rank``: what comes first in search and in the feed.
- ``brief``: what came in, told every day or week, and taken to its reader.
- ``reprocess``: contents read again with newer versions of what reads them.
- ``operate``: what operators do: migrations, users, credits, dead letters.
- ``worker``: the same handlers on one machine or on Fargate, by long poll.

What they share stands below them:

- ``jobs``: how a job lives: store, publish, consume, sweep (docs/jobs.md).
- ``models``: whatever asks a model, and what that costs.
- ``catalog``: tables that several rooms share, one store each, and the kinds of sources.
- ``net``: the safe client of all outgoing requests, and the pace of hosts.
- ``text``: words, names, scripts, dates.
- ``kit``: what has no word of the field in it: database, clock, errors, log, children.

Imports go one way: ``functions -> rooms -> models -> jobs -> catalog -> net, text -> kit``; no room imports another,
with the exceptions in CONTRIBUTING.md.
"""
