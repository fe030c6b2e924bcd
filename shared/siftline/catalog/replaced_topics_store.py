"""Parts of statements: default topics that an own topic of the same id replaces, for what a user holds.

They stand beside ``items i`` and take the parameter ``user_id``. An own topic counts for all that a user holds, or for
what a source brings them.
"""

_REPLACED = """exists (
  select from topic_sets as replacing
  where replacing.user_id = %(user_id)s and replacing.topics @> jsonb_build_array(jsonb_build_object('id', {topic}))
    and (replacing.source_id is null or replacing.source_id = i.source_id or exists (
      select from source_entries as bringing
      where bringing.source_id = replacing.source_id and bringing.content_id = i.content_id)))"""
_LEFT = """(case when jsonb_typeof({topics}) = 'array'
  and exists (select from topic_sets where topic_sets.user_id = %(user_id)s)
then (
  select coalesce(jsonb_agg(said.topic order by said.place), '[]')
  from jsonb_array_elements({topics}) with ordinality as said (topic, place) where not {replaced})
else {topics} end)"""


def replaced(topic: str) -> str:
    """Return the condition that an own topic has this id (a text) and counts for the item."""
    return _REPLACED.format(topic=topic)


def left_of(topics: str) -> str:
    """Return those of a column's default topics (``[{"topic", …}]`` or null) that no own topic replaces."""
    return _LEFT.format(topics=topics, replaced=replaced("said.topic ->> 'topic'"))


ASKED_FOR = replaced("%(topic)s::jsonb -> 0 ->> 'topic'")
"""The condition that an own topic replaces the one that ``topic`` (``[{"topic": id}]``) asks for."""
