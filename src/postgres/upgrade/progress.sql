-- How far the copy is; made last, so that the copy is begun when it exists. `state`: `copying` until the switch. `copied_seq`: the
-- last entry of the old journal that is copied.
create table ledger_upgrade.progress (
  is_only          boolean primary key default true check (is_only),
  state            text not null default 'copying' check (state in ('copying', 'switched')),
  started_at       timestamptz not null default now(),
  switched_at      timestamptz,
  -- Of the new ledger at the switch: later, when months were archived, there is no way back.
  oldest_month     date,
  copied_seq       bigint not null default 0,
  -- Entries without a line in the audit trail, and webhook events whose body is now another one.
  unknown_callers  bigint not null default 0,
  different_bodies bigint not null default 0
);
insert into ledger_upgrade.progress default values;
