import './keys.css'
import type { Schema } from '../../api/schema.ts'
import { useSession } from '../../data/use-session.ts'
import { When } from '../../data/when.tsx'
import { Badge } from '../../design/badge.tsx'
import { Button } from '../../design/button.tsx'
import { EmptyState } from '../../design/feedback.tsx'
import { type Column, Table } from '../../design/table.tsx'
import { dateText, instantText } from '../../format/instants.ts'

export type Key = Schema<'Key'>

type KeyState = 'active' | 'expired' | 'revoked'

/** @param now milliseconds */
export function keyState({ revokedAt, expiresAt }: Pick<Key, 'revokedAt' | 'expiresAt'>, now: number): KeyState {
  if (revokedAt !== null) return 'revoked'
  return expiresAt !== null && Date.parse(expiresAt) <= now ? 'expired' : 'active'
}

/** What a key is called where it has no name. */
export function keyName({ name, prefix }: Pick<Key, 'name' | 'prefix'>): string {
  return name ?? `${prefix}…`
}

export type Scope = Schema<'Key'>['scopes'][number]

/** What each scope lets a partner do, in the contract's order. */
export const SCOPES: readonly {
  readonly scope: Scope
  readonly label: string
  readonly short: string
  readonly hint: string
}[] = [
  {
    scope: 'read:units',
    label: 'Read units',
    short: 'Units',
    hint: 'Names, locations, sizes and base prices',
  },
  { scope: 'read:availability', label: 'Read availability', short: 'Availability', hint: 'Which nights are free' },
  { scope: 'read:rates', label: 'Read prices', short: 'Prices', hint: 'Rates, fees and quotes' },
  { scope: 'read:bookings', label: 'Read bookings', short: 'Bookings', hint: 'All bookings, without guest details' },
  {
    scope: 'read:guests',
    label: 'Read guests',
    short: 'Guests',
    hint: 'Personal data: names, e-mail addresses and phone numbers',
  },
  { scope: 'write:bookings', label: 'Make bookings', short: 'Make bookings', hint: 'Make bookings and cancel them' },
]

/** As the service pre-selects them: everything read-only except guests. */
export const DEFAULT_SCOPES: readonly Scope[] = ['read:units', 'read:availability', 'read:rates', 'read:bookings']

const SOON_MS = 14 * 86_400_000

/** @param props.onRevoke left out: the person may not */
export function KeyTable({
  keys,
  now,
  onRevoke,
}: {
  keys: readonly Key[]
  now: number
  onRevoke: ((key: Key) => void) | undefined
}) {
  const { agency } = useSession()
  if (keys.length === 0) return <EmptyState icon="keys" title="No active keys" />
  const columns: Column<Key>[] = [
    {
      key: 'name',
      head: 'Key',
      cell: (key) => (
        <div class="key-name">
          <span>{keyName(key)}</span>
          <code>{key.prefix}…</code>
        </div>
      ),
    },
    {
      key: 'scopes',
      head: 'Permissions',
      cell: ({ scopes }) => (
        <span class="key-scopes">
          {SCOPES.filter(({ scope }) => scopes.includes(scope)).map(({ scope, short }) => (
            <Badge key={scope} tone={scope === 'write:bookings' || scope === 'read:guests' ? 'accent' : 'neutral'}>
              {short}
            </Badge>
          ))}
          {scopes.length === 0 && <span class="muted">Nothing</span>}
        </span>
      ),
    },
    {
      key: 'created',
      head: 'Created',
      isMinor: true,
      cell: ({ createdAt }) => (
        <time dateTime={createdAt} title={instantText(createdAt, agency.timezone)}>
          {dateText(createdAt, agency.timezone)}
        </time>
      ),
    },
    { key: 'used', head: 'Last used', cell: ({ lastUsedAt }) => <When instant={lastUsedAt} /> },
    { key: 'expires', head: 'Expires', cell: (key) => <Expiry apiKey={key} now={now} /> },
  ]
  if (onRevoke !== undefined) {
    columns.push({
      key: 'actions',
      head: 'Actions',
      isActions: true,
      cell: (key) =>
        keyState(key, now) === 'active' && (
          <Button tone="quiet" size="s" aria-label={`Revoke ${keyName(key)}`} onClick={() => onRevoke(key)}>
            Revoke
          </Button>
        ),
    })
  }
  return (
    <Table
      caption="API keys"
      columns={columns}
      rows={keys}
      rowKey={({ id }) => id}
      isFaded={(key) => keyState(key, now) !== 'active'}
    />
  )
}

function Expiry({ apiKey, now }: { apiKey: Key; now: number }) {
  const { agency } = useSession()
  const { expiresAt, revokedAt } = apiKey
  if (revokedAt !== null) {
    return (
      <span title={instantText(revokedAt, agency.timezone)}>
        <Badge tone="bad">Revoked</Badge> {dateText(revokedAt, agency.timezone)}
      </span>
    )
  }
  if (expiresAt === null) return <span class="muted">Never</span>
  const left = Date.parse(expiresAt) - now
  const text = <span title={instantText(expiresAt, agency.timezone)}>{dateText(expiresAt, agency.timezone)}</span>
  if (left <= 0) {
    return (
      <>
        <Badge tone="bad">Expired</Badge> {text}
      </>
    )
  }
  return left < SOON_MS ? (
    <>
      <Badge tone="warn">Expires soon</Badge> {text}
    </>
  ) : (
    text
  )
}
