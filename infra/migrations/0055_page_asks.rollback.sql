drop table page_asks;
