-- What was mended stays so: what is not used of it stands in undated_claim.
select;
