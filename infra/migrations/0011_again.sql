-- Whose the follow-up of a running job is, and who follows the source that brought a content.
-- depends: 0001_house 0003_credits

-- The group_key of who asked first for the run that follows (again): its tenant pays for it, not the running job's.
alter table jobs add column again_for text;

-- Who can pay for a content now. follows_since: since when they have followed the source that brought it to them.
create or replace view content_payers as
select items.content_id, items.user_id, users.credits, items.saved,
  case when items.saved then items.created_at else subscriptions.created_at end as since, items.id as item_id,
  subscriptions.created_at as follows_since
from items join users on users.id = items.user_id and (users.credits is null or users.credits >= 1)
left join subscriptions on subscriptions.user_id = items.user_id and subscriptions.source_id = items.source_id;
