import ledger from '../../../sql/0001_ledger.sql' with { type: 'text' }
import webhooks from '../../../sql/0002_webhooks.sql' with { type: 'text' }
import calendarFeed from '../../../sql/0003_calendar_feed.sql' with { type: 'text' }
import nightWallByHash from '../../../sql/0004_night_wall_by_hash.sql' with { type: 'text' }
import rowsAsComposites from '../../../sql/0005_rows_as_composites.sql' with { type: 'text' }
import renewEpoch from '../../../sql/0006_renew_epoch.sql' with { type: 'text' }
import secretKeyCheck from '../../../sql/0007_secret_key_check.sql' with { type: 'text' }
import fencedPortalWrites from '../../../sql/0008_fenced_portal_writes.sql' with { type: 'text' }
import countedRequests from '../../../sql/0009_counted_requests.sql' with { type: 'text' }
import guestSearch from '../../../sql/0010_guest_search.sql' with { type: 'text' }
import shards from '../../../sql/0011_shards.sql' with { type: 'text' }
import appends from '../../../sql/0012_appends.sql' with { type: 'text' }
import webhooksFromTheLog from '../../../sql/0013_webhooks_from_the_log.sql' with { type: 'text' }
import months from '../../../sql/0014_months.sql' with { type: 'text' }
import cheaperAppends from '../../../sql/0015_cheaper_appends.sql' with { type: 'text' }
import accessTokens from '../../../sql/0016_access_tokens.sql' with { type: 'text' }
import loadUnits from '../../../sql/0017_load_units.sql' with { type: 'text' }
import changes from '../../../sql/0018_changes.sql' with { type: 'text' }
import portalSessions from '../../../sql/0019_portal_sessions.sql' with { type: 'text' }
import portalChanges from '../../../sql/0020_portal_changes.sql' with { type: 'text' }
import keyLastUsed from '../../../sql/0021_key_last_used.sql' with { type: 'text' }
import usageDays from '../../../sql/0022_usage_days.sql' with { type: 'text' }
import writers from '../../../sql/0023_writers.sql' with { type: 'text' }
import afterRestore from '../../../sql/0024_after_restore.sql' with { type: 'text' }
import expectedExtensions from '../../../sql/0025_expected_extensions.sql' with { type: 'text' }
import shardOwnership from '../../../sql/0026_shard_ownership.sql' with { type: 'text' }
import nodeReadsAndLocks from '../../../sql/0027_node_reads_and_locks.sql' with { type: 'text' }
import ratesHaveTheirForm from '../../../sql/0028_rates_have_their_form.sql' with { type: 'text' }
import nothingAheadOfTheLog from '../../../sql/0029_nothing_ahead_of_the_log.sql' with { type: 'text' }
import archivedUnits from '../../../sql/0030_archived_units.sql' with { type: 'text' }

/** One step of the schema. Versions are consecutive; `sql` runs in one transaction. */
export type Migration = { readonly version: number; readonly name: string; readonly sql: string }

/**
 * What a new database consists of: the files of sql/ from 0011 on, in order, embedded so that the compiled binary carries them.
 * Forward only: an applied migration is never edited, a mistake is fixed by the next one. A test compares this list, after the
 * old ones, with the folder.
 */
export const MIGRATIONS: readonly Migration[] = [
  { version: 11, name: 'shards', sql: shards },
  { version: 12, name: 'appends', sql: appends },
  { version: 13, name: 'webhooks_from_the_log', sql: webhooksFromTheLog },
  { version: 14, name: 'months', sql: months },
  { version: 15, name: 'cheaper_appends', sql: cheaperAppends },
  { version: 16, name: 'access_tokens', sql: accessTokens },
  { version: 17, name: 'load_units', sql: loadUnits },
  { version: 18, name: 'changes', sql: changes },
  { version: 19, name: 'portal_sessions', sql: portalSessions },
  { version: 20, name: 'portal_changes', sql: portalChanges },
  { version: 21, name: 'key_last_used', sql: keyLastUsed },
  { version: 22, name: 'usage_days', sql: usageDays },
  { version: 23, name: 'writers', sql: writers },
  { version: 24, name: 'after_restore', sql: afterRestore },
  { version: 25, name: 'expected_extensions', sql: expectedExtensions },
  { version: 26, name: 'shard_ownership', sql: shardOwnership },
  { version: 27, name: 'node_reads_and_locks', sql: nodeReadsAndLocks },
  { version: 28, name: 'rates_have_their_form', sql: ratesHaveTheirForm },
  { version: 29, name: 'nothing_ahead_of_the_log', sql: nothingAheadOfTheLog },
  { version: 30, name: 'archived_units', sql: archivedUnits },
]

/** The layout before the journal was divided into shards. Applied only to a database that has it, before it is copied. */
export const OLD_MIGRATIONS: readonly Migration[] = [
  { version: 1, name: 'ledger', sql: ledger },
  { version: 2, name: 'webhooks', sql: webhooks },
  { version: 3, name: 'calendar_feed', sql: calendarFeed },
  { version: 4, name: 'night_wall_by_hash', sql: nightWallByHash },
  { version: 5, name: 'rows_as_composites', sql: rowsAsComposites },
  { version: 6, name: 'renew_epoch', sql: renewEpoch },
  { version: 7, name: 'secret_key_check', sql: secretKeyCheck },
  { version: 8, name: 'fenced_portal_writes', sql: fencedPortalWrites },
  { version: 9, name: 'counted_requests', sql: countedRequests },
  { version: 10, name: 'guest_search', sql: guestSearch },
]

/** What the migrations create, all of them trusted: a test compares this list with sql/. */
export const EXTENSIONS: readonly string[] = ['btree_gist', 'btree_gin', 'pg_trgm']
