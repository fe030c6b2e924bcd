drop table breakers;
