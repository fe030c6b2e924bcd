drop table set_aside;
