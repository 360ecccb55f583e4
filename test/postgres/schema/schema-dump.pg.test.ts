import { afterAll, describe, expect, test } from 'bun:test'
import type { Sql } from '../../../src/postgres/client/connect.ts'
import { dumpSchema } from '../../../src/postgres/schema/schema-dump.ts'
import { type TestDatabase, testDatabase } from '../../support/postgres.ts'
import { SCHEMA_DUMP_FILE } from '../../support/refresh-schema-dump.ts'

const EVERY_KIND = `create type mood as enum ('b', 'a');

create type place as (
  floor integer,
  "door no" text
);

create domain share as integer not null CHECK ((VALUE > 0));

create sequence ticket as bigint increment 1 minvalue 1 maxvalue 9223372036854775807 start 1;

create table guest (
  id bigint generated always as identity not null,
  email text default 'x'::text not null,
  key text generated always as (lower(email)) stored,
  mood mood,
  constraint guest_pkey PRIMARY KEY (id),
  constraint guest_key_key UNIQUE (key)
);

create table stay (
  guest bigint,
  nights int4range,
  constraint stay_guest_fkey FOREIGN KEY (guest) REFERENCES guest(id),
  constraint stay_nights_check CHECK ((NOT isempty(nights)))
);

CREATE INDEX stay_open ON public.stay USING btree (guest) WHERE (nights IS NULL);

create view late as
 SELECT id
   FROM guest;

CREATE OR REPLACE FUNCTION public.touch()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$ begin return new; end $function$;

CREATE TRIGGER touched BEFORE UPDATE ON stay FOR EACH ROW EXECUTE FUNCTION touch();
`

describe('the schema dump', () => {
  const databases: TestDatabase[] = []

  async function open(template: 'migrated' | 'empty'): Promise<Sql> {
    const database = await testDatabase({ template })
    databases.push(database)
    return database.sql
  }
  afterAll(async () => {
    for (const database of databases) await database.drop()
  })

  test('in the repository is what the migrations make (bun run schema:dump writes it anew)', async () => {
    expect(await dumpSchema(await open('migrated'))).toBe(await Bun.file(SCHEMA_DUMP_FILE).text())
  })

  test('tells every kind of thing, and nothing of an empty database', async () => {
    const sql = await open('empty')
    expect(await dumpSchema(sql)).toBe('\n')
    await sql
      .unsafe(
        `create type mood as enum ('b', 'a');
        create domain share as int not null check (value > 0);
        create type place as (floor int, "door no" text);
        create sequence ticket;
        create table guest (id bigint generated always as identity primary key, email text default 'x' not null,
          key text generated always as (lower(email)) stored, mood mood, unique (key));
        create table stay (guest bigint references guest, nights int4range, check (not isempty(nights)));
        create index stay_open on stay (guest) where nights is null;
        create view late as select id from guest;
        create function touch() returns trigger language plpgsql as $$ begin return new; end $$;
        create trigger touched before update on stay for each row execute function touch()`,
      )
      .simple()
    expect(await dumpSchema(sql)).toBe(EVERY_KIND)
  })
})
