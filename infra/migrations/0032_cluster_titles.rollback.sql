alter table clusters drop column titled_by;
