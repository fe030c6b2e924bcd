drop index briefings_mailed_to;
drop table mail_events, mail_addresses;
