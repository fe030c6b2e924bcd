drop table briefing_likeness;
