drop table request_counts;
