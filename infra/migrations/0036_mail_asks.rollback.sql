comment on column mail_addresses.asked_at is 'when the newest mail that asks was begun: one a day, whichever user it is for';
drop table mail_asks;
