import type { AccessToken, Agency, ApiKey } from '../../core/catalogue/agency.ts'
import { ENDED_CREDENTIALS_KEPT_MAX, Inventory } from '../../core/catalogue/agency.ts'
import type { CatalogueMoment, CataloguePart, CatalogueRead, CatalogueStore } from '../../core/catalogue/catalogue.ts'
import { type Person, REMOVED_PEOPLE_KEPT_MAX } from '../../core/catalogue/people.ts'
import type { FeeType, Unit } from '../../core/domain/unit.ts'
import { decodeRates, decodeRestrictions } from '../../core/journal/entry-codec.ts'
import { decoderOf, type Stored } from '../../core/journal/fields.ts'
import { uuidOf } from '../../lib/ids.ts'
import type { Fragment, Sql } from '../client/connect.ts'
import { selected } from './table.ts'
import {
  ACCESS_TOKEN,
  AGENCY,
  AGENCY_OWN_FIELDS,
  API_KEY,
  CLOCK_FIELDS,
  FEE_TYPE,
  PERSON,
  PLAN_FIELDS,
  UNIT,
  UNIT_MASTER_FIELDS,
  UNIT_RULE_FIELDS,
} from './tables.ts'

/** Reads agencies, API keys, access tokens, people, units and fees. Units are written by the journal, the others by `PostgresAgencyStore`. */
export class PostgresCatalogueStore implements CatalogueStore {
  readonly #sql: Sql

  constructor(sql: Sql) {
    this.#sql = sql
  }

  /** All agencies, keys, access tokens and people, and the moment since which later changes are found. */
  async read(): Promise<CatalogueRead> {
    // Before the rows: every transaction that they do not show is younger, or still running.
    const [row] = await this.#sql<{ moment: CatalogueMoment }[]>`
      select pg_snapshot_xmin(pg_current_snapshot())::xid::text as moment`
    if (row === undefined) throw new Error('Cannot read the catalogue: no answer')
    const [agencies, keys, accessTokens, people] = await Promise.all([
      this.loadAgencies(null),
      this.loadKeys(null),
      this.loadAccessTokens(null),
      this.loadPeople(null),
    ])
    return { moment: row.moment, agencies, keys, accessTokens, people }
  }

  /** The agencies of these shards, with their keys, access tokens and people. */
  async readShards(shards: readonly number[]): Promise<CataloguePart> {
    const of = () => this.#sql`shard_of(agency_id) = any (${`{${shards.join()}}`}::text::smallint[])`
    const ofAgencies = () => this.#sql`agency_id in (select agency_id from agency where ${of()})`
    const [agencies, keys, accessTokens, people] = await Promise.all([
      this.#agencies(of()),
      this.#keys(ofAgencies()),
      this.#accessTokens(ofAgencies()),
      this.#people(ofAgencies()),
    ])
    return { agencies, keys, accessTokens, people }
  }

  loadAgencies(since: CatalogueMoment | null = null): Promise<readonly Agency[]> {
    return this.#agencies(this.#changed(since))
  }

  loadKeys(since: CatalogueMoment | null = null): Promise<readonly ApiKey[]> {
    return this.#keys(this.#changed(since))
  }

  loadAccessTokens(since: CatalogueMoment | null = null): Promise<readonly AccessToken[]> {
    return this.#accessTokens(this.#changed(since))
  }

  loadPeople(since: CatalogueMoment | null = null): Promise<readonly Person[]> {
    return this.#people(this.#changed(since))
  }

  async #agencies(which: Fragment): Promise<readonly Agency[]> {
    const rows = await this.#sql<Stored<typeof AGENCY.fields>[]>`
      select ${selected(this.#sql, AGENCY)} from agency where ${which}`
    return rows.map((row) => ({ ...decodeAgency(row), plan: decodePlan(row), ...clockIn(row) }))
  }

  async #keys(which: Fragment): Promise<readonly ApiKey[]> {
    const rows = await this.#sql<Stored<typeof API_KEY.fields>[]>`
      select ${selected(this.#sql, API_KEY)} from ${this.#kept('api_key', which)}`
    return rows.map(decodeKey)
  }

  async #accessTokens(which: Fragment): Promise<readonly AccessToken[]> {
    const rows = await this.#sql<Stored<typeof ACCESS_TOKEN.fields>[]>`
      select ${selected(this.#sql, ACCESS_TOKEN)} from ${this.#kept('access_token', which)}`
    return rows.map(decodeAccessToken)
  }

  async #people(which: Fragment): Promise<readonly Person[]> {
    const rows = await this.#sql<Stored<typeof PERSON.fields>[]>`
      select ${selected(this.#sql, PERSON)} from (
        select *, row_number() over (partition by agency_id, removed_at is null order by removed_at desc) as place
        from person where ${which}) as person
      where removed_at is null or place <= ${REMOVED_PEOPLE_KEPT_MAX}`
    return rows.map(decodePerson)
  }

  /** Of each agency, the credentials that are live and the newest that have ended: however many there were, a start reads few. */
  #kept(table: 'api_key' | 'access_token', which: Fragment): Fragment {
    const ended = () => this.#sql`(revoked_at is not null or coalesce(expires_at < now(), false))`
    return this.#sql`(
      select *, ${ended()} as has_ended,
        row_number() over (partition by agency_id, ${ended()} order by least(revoked_at, expires_at) desc) as place
      from ${this.#sql(table)} where ${which}) as ${this.#sql(table)}
      where not has_ended or place <= ${ENDED_CREDENTIALS_KEPT_MAX}`
  }

  /** Rows written by a transaction that is not older. Of ancient rows the comparison may fail, and then they are read as well. */
  #changed(since: CatalogueMoment | null) {
    return since === null ? this.#sql`true` : this.#sql`age(xmin) <= age(${since}::text::xid)`
  }

  async loadInventory(agencyId: string): Promise<Inventory> {
    const [units, feeTypes] = await Promise.all([this.#loadUnits(agencyId), this.#loadFeeTypes(agencyId)])
    return new Inventory(units, feeTypes)
  }

  async #loadUnits(agencyId: string): Promise<readonly Unit[]> {
    const rows = await this.#sql<Stored<typeof UNIT.fields>[]>`
      select ${selected(this.#sql, UNIT)} from unit where agency_id = ${uuidOf(agencyId)}`
    return rows.map((row) => ({
      ...decodeUnit(row),
      rules: {
        ...decodeUnitRules(row),
        rates: decodeRates(row.rates),
        ...(row.restrictions === null ? {} : { restrictions: decodeRestrictions(row.restrictions) }),
      },
    }))
  }

  async #loadFeeTypes(agencyId: string): Promise<readonly FeeType[]> {
    const rows = await this.#sql<Stored<typeof FEE_TYPE.fields>[]>`
      select ${selected(this.#sql, FEE_TYPE)} from fee_type where agency_id = ${uuidOf(agencyId)} order by position`
    return rows.map((row) => {
      const { agencyId: _, ...feeType } = decodeFeeType(row)
      return feeType
    })
  }
}

const decodeAgency = decoderOf(AGENCY_OWN_FIELDS)
const decodePlan = decoderOf(PLAN_FIELDS)
const decodeClock = decoderOf(CLOCK_FIELDS)
const decodeAccessToken: (row: Stored<typeof ACCESS_TOKEN.fields>) => AccessToken = decoderOf(ACCESS_TOKEN.fields)
const decodePerson: (row: Stored<typeof PERSON.fields>) => Person = decoderOf(PERSON.fields)
const decodeKey: (row: Stored<typeof API_KEY.fields>) => ApiKey = decoderOf(API_KEY.fields)
const decodeUnit = decoderOf(UNIT_MASTER_FIELDS)
const decodeUnitRules = decoderOf(UNIT_RULE_FIELDS)
const decodeFeeType = decoderOf(FEE_TYPE.fields)

function clockIn(row: Stored<typeof CLOCK_FIELDS>): Pick<Agency, 'clock'> {
  const { clockNow, clockTarget } = decodeClock(row)
  return clockNow === null || clockTarget === null ? {} : { clock: { now: clockNow, target: clockTarget } }
}
