-- Labels that a language model gave to clusters.
-- depends: 0001_house

-- label_wanted: a new label of key phrases, for which a language model is still to be asked. named_by: the model and the
-- version of the question, where the label is a model's; null: key phrases.
alter table clusters add column label_wanted boolean not null default false;
alter table clusters add column named_by text;
create index clusters_label_wanted on clusters (user_id) where label_wanted;
