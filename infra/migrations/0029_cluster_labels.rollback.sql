alter table clusters drop column named_by;
alter table clusters drop column label_wanted;
