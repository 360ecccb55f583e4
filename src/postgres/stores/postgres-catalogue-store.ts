import type { AccessToken, Agency, ApiKey } from '../../core/catalogue/agency.ts'
import { ENDED_CREDENTIALS_KEPT_MAX, Inventory } from '../../core/catalogue/agency.ts'
import type { CatalogueMoment, CataloguePart, CatalogueRead, CatalogueStore } from '../../core/catalogue/catalogue.ts'
import { type Person, REMOVED_PEOPLE_KEPT_MAX } from '../../core/catalogue/people.ts'
import { type FeeType, UNIT_STATUSES, type Unit } from '../../core/domain/unit.ts'
import { decodeRates, decodeRestrictions } from '../../core/journal/entry-codec.ts'
import { type Columns, columnDecoderOf, decoderOf, type Stored } from '../../core/journal/fields.ts'
import { uuidOf } from '../../lib/ids.ts'
import type { Fragment, Sql } from '../client/connect.ts'
import { columnNames, columnsIn, type ReadColumns, selected, selectedColumns } from './table.ts'
import {
  ACCESS_TOKEN,
  AGENCY,
  API_KEY,
  FEE_TYPE,
  PERSON,
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
    const [row] = await this.#sql<ReadColumns[]>`
      select ${selectedColumns(this.#sql, AGENCY)} from agency where ${which}`
    return decodeAgencies(columnsIn(row)).map((stored) => {
      const { apiAccess, requestsPerMinute, requestsPerMonth, clockNow, clockTarget, ...own } = stored
      const clock = clockNow === null || clockTarget === null ? {} : { clock: { now: clockNow, target: clockTarget } }
      return { ...own, plan: { apiAccess, requestsPerMinute, requestsPerMonth }, ...clock }
    })
  }

  async #keys(which: Fragment): Promise<readonly ApiKey[]> {
    const [row] = await this.#sql<ReadColumns[]>`
      select ${selectedColumns(this.#sql, API_KEY)} from ${this.#kept(API_KEY, which, CREDENTIALS)}`
    return decodeKeys(columnsIn(row))
  }

  async #accessTokens(which: Fragment): Promise<readonly AccessToken[]> {
    const [row] = await this.#sql<ReadColumns[]>`
      select ${selectedColumns(this.#sql, ACCESS_TOKEN)} from ${this.#kept(ACCESS_TOKEN, which, CREDENTIALS)}`
    return decodeAccessTokens(columnsIn(row))
  }

  async #people(which: Fragment): Promise<readonly Person[]> {
    const [row] = await this.#sql<ReadColumns[]>`
      select ${selectedColumns(this.#sql, PERSON)} from ${this.#kept(PERSON, which, PEOPLE)}`
    return decodePeople(columnsIn(row))
  }

  /**
   * Of each agency, the rows that are live and the newest that have ended: however many there were, a start reads few. Only those that have ended
   * are sorted.
   */
  #kept(table: Parameters<typeof columnNames>[1], which: Fragment, { ended, endedAt, endedMax }: Kept): Fragment {
    const [name, columns] = [this.#sql.unsafe(table.name), columnNames(this.#sql, table)]
    return this.#sql`(
      select ${columns} from ${name} where ${which} and not ${this.#sql.unsafe(ended)}
      union all
      select ${columns} from (
        select *, row_number() over (partition by agency_id order by ${this.#sql.unsafe(endedAt)} desc) as place
        from ${name} where ${which} and ${this.#sql.unsafe(ended)}) as ended
      where place <= ${endedMax}) as ${name}`
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
      // One text of each, instead of one of each unit: every request compares it.
      status: UNIT_STATUSES.find((status) => status === row.status) ?? row.status,
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

/** Which rows have ended, and how many of them are read. */
interface Kept {
  readonly ended: string
  readonly endedAt: string
  readonly endedMax: number
}

const CREDENTIALS: Kept = {
  ended: '(revoked_at is not null or coalesce(expires_at < now(), false))',
  endedAt: 'least(revoked_at, expires_at)',
  endedMax: ENDED_CREDENTIALS_KEPT_MAX,
}
const PEOPLE: Kept = {
  ended: '(removed_at is not null)',
  endedAt: 'removed_at',
  endedMax: REMOVED_PEOPLE_KEPT_MAX,
}

const decodeAgencies = columnDecoderOf(AGENCY.fields)
const decodeAccessTokens: (columns: Columns<typeof ACCESS_TOKEN.fields>) => readonly AccessToken[] = columnDecoderOf(
  ACCESS_TOKEN.fields,
)
const decodePeople: (columns: Columns<typeof PERSON.fields>) => readonly Person[] = columnDecoderOf(PERSON.fields)
const decodeKeys: (columns: Columns<typeof API_KEY.fields>) => readonly ApiKey[] = columnDecoderOf(API_KEY.fields)
const decodeUnit = decoderOf(UNIT_MASTER_FIELDS)
const decodeUnitRules = decoderOf(UNIT_RULE_FIELDS)
const decodeFeeType = decoderOf(FEE_TYPE.fields)
