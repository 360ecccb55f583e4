import { withDeadline } from '../../lib/deadline.ts'
import { reasonOf } from '../../lib/reason-of.ts'
import { connect } from '../../postgres/client/connect.ts'
import { type Config, ConfigError, readConfig, VARIABLES } from '../config.ts'
import { type Check, type DatabaseWorld, type Finding, failure, ok, skipped, type World } from './check.ts'
import { connections } from './connections.ts'
import { dataFolder } from './data-folder.ts'
import { database } from './database.ts'
import { databaseClock } from './database-clock.ts'
import { etcd } from './etcd.ts'
import { type Machine, thisMachine } from './machine.ts'
import { mailServer } from './mail-server.ts'
import { months } from './months.ts'
import { publicUrl } from './public-url.ts'
import { role } from './role.ts'
import { schema } from './schema.ts'
import { secretKey } from './secret-key.ts'
import { serverSettings } from './server-settings.ts'
import { service } from './service.ts'
import { signInProvider } from './sign-in-provider.ts'
import { standbys } from './standbys.ts'
import { webhooks } from './webhooks.ts'
import { writer } from './writer.ts'

/** A finding and the check that made it. */
export interface CheckFinding extends Finding {
  readonly check: string
}

/** Need nothing but the configuration. */
const SURROUNDINGS: readonly Check[] = [dataFolder, service, publicUrl, signInProvider, mailServer, etcd]
/** Need a reachable database. */
const ON_SERVER: readonly Check<DatabaseWorld>[] = [serverSettings, connections, databaseClock, standbys]
/** Need the schema of this program. */
const ON_LEDGER: readonly Check<DatabaseWorld>[] = [role, secretKey, months, writer, webhooks]

/** Longer than the connection timeout. */
const CHECK_MS_MAX = 8_000

/** Runs all checks, concurrently where they are independent. Changes nothing, and ends within three times the time limit of a check. */
export async function runChecks(
  env: Readonly<Record<string, string | undefined>>,
  { machine = thisMachine, checkMsMax = CHECK_MS_MAX }: { machine?: Machine; checkMsMax?: number } = {},
): Promise<readonly CheckFinding[]> {
  const read = configOf(env)
  if ('faults' in read) return invalid(read.faults)
  const world = { config: read, machine }
  const run = <W extends World>(check: Check<W>, given: W) => outcome(check, given, checkMsMax)
  const [surroundings, ofDatabase] = await Promise.all([
    Promise.all(SURROUNDINGS.map((check) => run(check, world))),
    onDatabase(world, run),
  ])
  return [
    {
      check: 'configuration',
      ...ok(`${VARIABLES.filter((name) => env[name]).length} variables are set, and all are valid.`),
    },
    ...ofDatabase,
    ...surroundings.flat(),
  ]
}

type Run = <W extends World>(check: Check<W>, world: W) => Promise<readonly CheckFinding[]>

async function onDatabase(world: World, run: Run): Promise<readonly CheckFinding[]> {
  const { databaseUrl } = world.config
  if (databaseUrl === null)
    return without(
      [database, ...ON_SERVER, schema, ...ON_LEDGER],
      'DATABASE_URL is not set: the service runs its built-in PostgreSQL.',
    )
  const reached = await run(database, world)
  if (!isFine(reached))
    return [...reached, ...without([...ON_SERVER, schema, ...ON_LEDGER], 'The database cannot be used.')]
  const sql = connect(databaseUrl, { purpose: 'doctor' })
  try {
    const given = { ...world, sql }
    const [server, found] = await Promise.all([
      Promise.all(ON_SERVER.map((check) => run(check, given))),
      run(schema, given),
    ])
    const ledger = isFine(found)
      ? (await Promise.all(ON_LEDGER.map((check) => run(check, given)))).flat()
      : without(ON_LEDGER, 'The schema does not match this program.')
    return [...reached, ...server.flat(), ...found, ...ledger]
  } finally {
    await sql.end({ timeout: 0 })
  }
}

function configOf(env: Readonly<Record<string, string | undefined>>): Config | ConfigError {
  try {
    return readConfig(env)
  } catch (error) {
    if (error instanceof ConfigError) return error
    throw error
  }
}

function invalid(faults: readonly string[]): readonly CheckFinding[] {
  const fix = 'Correct the variable in the environment of the service; `nightledger config check` shows all settings.'
  return [
    ...faults.map((fault) => ({ check: 'configuration', ...failure(fault, fix) })),
    ...without([database, ...ON_SERVER, schema, ...ON_LEDGER, ...SURROUNDINGS], 'The configuration is invalid.'),
  ]
}

async function outcome<W extends World>(
  check: Check<W>,
  world: W,
  checkMsMax: number,
): Promise<readonly CheckFinding[]> {
  const findings = await withDeadline(check.run(world), checkMsMax).catch((error: unknown) => [
    failure(
      `The check could not be completed: ${reasonOf(error)}`,
      'Run `nightledger doctor` again; if the error persists, read the PostgreSQL log.',
    ),
  ])
  return findings.map((finding) => ({ check: check.name, ...finding }))
}

function without(checks: readonly { readonly name: string }[], why: string): readonly CheckFinding[] {
  return checks.map(({ name }) => ({ check: name, ...skipped(why) }))
}

function isFine(findings: readonly Finding[]): boolean {
  return findings.every(({ severity }) => severity !== 'error')
}
