import { assert } from '../../lib/assert.ts'
import type { Mirror } from './mirrors.ts'

/** A column of a mirror's new table. */
export interface MirrorColumn {
  readonly name: string
  /** Its name in the old table, and its type there; null if the old table lacks it. */
  readonly oldName: string
  readonly oldType: string | null
  /** Whether a text of the old table becomes a UUID. */
  readonly isId: boolean
}

/** How long a statement of the previous version waits for a page that is being copied, and the other way round. */
const LOCK_MS_MAX = 100

/**
 * The functions and triggers of one mirror, as one script. `main` stands for the old schema, quoted.
 *
 * A trigger must never disturb the previous version: it runs once per statement, waits for no lock longer than a moment, and notes the
 * rows it could not copy.
 */
export function mirrorScript(mirror: Mirror, columns: readonly MirrorColumn[], main: string): string {
  const { name, from, to, key, identity } = mirror
  const written = columns.filter(({ name: column, oldType }) => column in mirror.columns || oldType !== null)
  const names = written.map((column) => column.name).join(', ')
  const values = written.map((column) => expressionOf(mirror, column)).join(', ')
  const changes = written.map((column) => column.name).filter((column) => !identity.includes(column))
  const select = (rows: string) =>
    `select ${values} from ${rows} o ${mirror.join.replaceAll('main_schema', main)} where ${mirror.where}`
  const upsert = `on conflict (${identity.join(', ')}) do update set ${changes.map((column) => `${column} = excluded.${column}`).join(', ')}`
  const settings = `set search_path = ledger_next, ${main}, pg_temp set lock_timeout = '${LOCK_MS_MAX}ms'`
  const keyRow = `jsonb_build_array(${key.map((column) => `o.${column}`).join(', ')})`
  const typeOf = (column: string) => columns.find(({ oldName }) => oldName === column)?.oldType ?? 'text'
  const keyParts = (json: string) => key.map((column, i) => `(${json} ->> ${i})::${typeOf(column)}`)
  const isSameKey = (json: string) => key.map((column, i) => `o.${column} = ${keyParts(json)[i]}`).join(' and ')
  const inOrder = key.map((column) => `o.${column}`).join(', ')
  const copyOf = (row: 'o' | 'k') =>
    identity
      .filter((column) => column !== 'month' || key.includes('month'))
      .map((column) => `n.${column} = ${keyValue(mirror, columns, column, row)}`)
      .join(' and ')

  return `
create function ledger_upgrade.put_${name}() returns trigger language plpgsql security definer ${settings} as $$
begin
  insert into ${to} (${names}) ${select('new_rows')} ${upsert};
  return null;
exception when others then
  insert into ledger_upgrade.missed (name, key) select '${name}', ${keyRow} from new_rows o;
  return null;
end $$;

create function ledger_upgrade.remove_${name}() returns trigger language plpgsql security definer ${settings} as $$
begin
  delete from ${to} n using old_rows o where ${copyOf('o')};
  return null;
exception when others then
  insert into ledger_upgrade.missed (name, key) select '${name}', ${keyRow} from old_rows o;
  return null;
end $$;

-- Copies the next page, and returns how many rows it had.
create function ledger_upgrade.fill_${name}(page_size integer) returns integer language plpgsql ${settings} as $$
declare
  after_key jsonb;
  found_rows integer;
  newest jsonb;
begin
  select last_key into after_key from ledger_upgrade.mirror where name = '${name}' and not is_copied for update;
  if not found then
    return 0;
  end if;
  with page as materialized (
    select o.* from ${main}.${from} o
    where (${inOrder}) > (${keyParts('after_key').join(', ')})
    order by ${inOrder} limit page_size
  ), put as (
    insert into ${to} (${names}) ${select('page')} on conflict do nothing
  )
  select count(*), (select ${keyRow} from page o order by ${key.map((column) => `o.${column} desc`).join(', ')} limit 1)
  into found_rows, newest from page;
  update ledger_upgrade.mirror set
    copied = copied + found_rows, last_key = coalesce(newest, last_key), is_copied = found_rows < page_size
  where name = '${name}';
  return found_rows;
end $$;

-- Copies rows that a trigger has missed, as they are now, and returns how many. Their old rows are locked meanwhile.
create function ledger_upgrade.again_${name}() returns integer language plpgsql ${settings} as $$
declare
  keys jsonb[];
begin
  with taken as (
    delete from ledger_upgrade.missed where ctid in (select ctid from ledger_upgrade.missed where name = '${name}' limit 200)
    returning key
  )
  select array_agg(distinct key) into keys from taken;
  delete from ${to} n using unnest(keys) k (key)
  where ${copyOf('k')} and not exists (select from ${main}.${from} o where ${isSameKey('k.key')});
  perform from ${main}.${from} o, unnest(keys) k (key) where ${isSameKey('k.key')} for no key update of o;
  insert into ${to} (${names})
  ${select(`(select o.* from ${main}.${from} o join unnest(keys) k (key) on ${isSameKey('k.key')})`)} ${upsert};
  return coalesce(cardinality(keys), 0);
end $$;

insert into ledger_upgrade.mirror (name, estimate, last_key)
select '${name}', greatest(c.reltuples, 0), jsonb_build_array(${key.map((column) => (typeOf(column) === 'text' ? "''" : '-1')).join(', ')})
from pg_class c where c.oid = '${main}.${from}'::regclass;
`
}

/** The statements that make the triggers of a mirror, each to be run alone: they lock the old table for a moment. */
export function triggerStatements({ name, from }: Mirror, main: string): readonly string[] {
  return [
    `create or replace trigger upgrade_insert_${name} after insert on ${main}.${from}
     referencing new table as new_rows for each statement execute function ledger_upgrade.put_${name}()`,
    `create or replace trigger upgrade_update_${name} after update on ${main}.${from}
     referencing new table as new_rows for each statement execute function ledger_upgrade.put_${name}()`,
    `create or replace trigger upgrade_delete_${name} after delete on ${main}.${from}
     referencing old table as old_rows for each statement execute function ledger_upgrade.remove_${name}()`,
  ]
}

function expressionOf({ columns }: Mirror, column: MirrorColumn): string {
  return columns[column.name] ?? copied(column, `o.${column.oldName}`)
}

/** A column of the copy's identity, from the key of the old row: of a row `o`, or of a JSON array `k.key`. */
function keyValue({ key }: Mirror, columns: readonly MirrorColumn[], name: string, row: 'o' | 'k'): string {
  const column = columns.find((each) => each.name === name)
  assert(column !== undefined, `Cannot copy a table: it has no column ${name}`)
  const { oldName, oldType } = column
  return copied(column, row === 'o' ? `o.${oldName}` : `(k.key ->> ${key.indexOf(oldName)})::${oldType}`)
}

function copied({ isId }: MirrorColumn, value: string): string {
  return isId ? `ledger_upgrade.uuid_of(${value})` : value
}
