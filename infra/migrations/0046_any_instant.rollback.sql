create or replace function item_rank(
  score double precision, sort_at timestamptz, at timestamptz, weight double precision, half_life_s double precision
) returns double precision language sql immutable parallel safe as $$
  select (1 - weight) * score + weight * power(
    0.5::float8, least(greatest(extract(epoch from at - sort_at)::float8, 0) / half_life_s, 1000))
$$;
