import ledger from '../../sql/0001_ledger.sql' with { type: 'text' }
import webhooks from '../../sql/0002_webhooks.sql' with { type: 'text' }
import calendarFeed from '../../sql/0003_calendar_feed.sql' with { type: 'text' }
import nightWallByHash from '../../sql/0004_night_wall_by_hash.sql' with { type: 'text' }
import rowsAsComposites from '../../sql/0005_rows_as_composites.sql' with { type: 'text' }
import guestSearch from '../../sql/0006_guest_search.sql' with { type: 'text' }

/** One step of the schema. `version` counts from 1 without gaps; `sql` runs in one transaction. */
export type Migration = { readonly version: number; readonly name: string; readonly sql: string }

/**
 * Every file of sql/, in order, embedded so that the compiled binary carries them. Forward only: an applied migration is
 * never edited, a mistake is mended by the next one. A test holds this list against the folder.
 */
export const MIGRATIONS: readonly Migration[] = [
  { version: 1, name: 'ledger', sql: ledger },
  { version: 2, name: 'webhooks', sql: webhooks },
  { version: 3, name: 'calendar_feed', sql: calendarFeed },
  { version: 4, name: 'night_wall_by_hash', sql: nightWallByHash },
  { version: 5, name: 'rows_as_composites', sql: rowsAsComposites },
  { version: 6, name: 'guest_search', sql: guestSearch },
]
