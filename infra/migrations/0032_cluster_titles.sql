-- Whose title a cluster's label is, so that it goes with the content.
-- depends: 0001_house 0029_cluster_labels

-- No reference: the content may go first. Labels of before are given anew by the next grouping.
alter table clusters add column titled_by uuid;
comment on column clusters.titled_by is 'the content whose title the label is made of; null: it is of phrases, or a model''s';
