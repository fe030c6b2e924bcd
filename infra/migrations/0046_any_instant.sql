-- Ranks whatever instant stands in a row: 'infinity' cannot be subtracted, and one such row broke every list it was in.
-- depends: 0020_scores

create or replace function item_rank(
  score double precision, sort_at timestamptz, at timestamptz, weight double precision, half_life_s double precision
) returns double precision language sql immutable parallel safe as $$
  select (1 - weight) * score + weight * power(
    0.5::float8, least(greatest(date_part('epoch', at) - date_part('epoch', sort_at), 0) / half_life_s, 1000))
$$;
