-- Breakers: a provider that is set up wrongly is left alone for a while instead of burning every job on it.
-- depends: 0001_house

-- A row means open, or tried again by one job (probe) once open_until has passed; no row means closed.
create table breakers (
  provider text primary key,
  error_code text not null,
  error_detail text not null,
  openings integer not null default 1 check (openings > 0),
  opened_at timestamptz not null default now(),
  open_until timestamptz not null,
  probe_until timestamptz
);
