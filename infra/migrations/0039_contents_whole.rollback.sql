alter table contents reset (toast_tuple_target);
