drop view content_payers;
create view content_payers as
select items.content_id, items.user_id, users.credits, items.saved,
  case when items.saved then items.created_at else subscriptions.created_at end as since, items.id as item_id
from items join users on users.id = items.user_id and (users.credits is null or users.credits >= 1)
left join subscriptions on subscriptions.user_id = items.user_id and subscriptions.source_id = items.source_id;
alter table jobs drop column again_for;
