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
]

/** What the migrations create, all of them trusted: a test compares this list with sql/. */
export const EXTENSIONS: readonly string[] = ['btree_gist', 'btree_gin', 'pg_trgm']
