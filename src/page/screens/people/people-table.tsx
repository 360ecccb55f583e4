import { useSession } from '../../data/use-session.ts'
import { Badge } from '../../design/badge.tsx'
import { Button } from '../../design/button.tsx'
import { type Column, Table } from '../../design/table.tsx'
import { dateText, instantText } from '../../format/instants.ts'
import { roleLabel, type Token, tokenState } from './roles.ts'

const SOON_MS = 14 * 86_400_000

export function PeopleTable({
  tokens,
  now,
  onRevoke,
}: {
  tokens: readonly Token[]
  now: number
  onRevoke: (token: Token) => void
}) {
  const { agency, actor } = useSession()
  const columns: Column<Token>[] = [
    {
      key: 'name',
      head: 'Name',
      cell: ({ id, name, prefix }) => (
        <div class="people-name">
          <span>
            {name} {id === actor.id && <Badge tone="info">You</Badge>}
          </span>
          <code>{prefix}…</code>
        </div>
      ),
    },
    {
      key: 'role',
      head: 'Role',
      cell: ({ role }) => <Badge tone={role === 'owner' ? 'accent' : 'neutral'}>{roleLabel(role)}</Badge>,
    },
    {
      key: 'created',
      head: 'Since',
      isMinor: true,
      cell: ({ createdAt }) => (
        <time dateTime={createdAt} title={instantText(createdAt, agency.timezone)}>
          {dateText(createdAt, agency.timezone)}
        </time>
      ),
    },
    { key: 'expires', head: 'Access ends', cell: (token) => <Ending token={token} now={now} /> },
    {
      key: 'actions',
      head: 'Actions',
      isActions: true,
      cell: (token) =>
        tokenState(token, now) === 'active' && (
          <Button tone="quiet" size="s" aria-label={`Revoke ${token.name}’s access`} onClick={() => onRevoke(token)}>
            Revoke
          </Button>
        ),
    },
  ]
  return (
    <Table
      caption="People with access"
      columns={columns}
      rows={tokens}
      rowKey={({ id }) => id}
      isFaded={(token) => tokenState(token, now) !== 'active'}
    />
  )
}

function Ending({ token, now }: { token: Token; now: number }) {
  const { agency } = useSession()
  const { expiresAt, revokedAt } = token
  const day = (instant: string) => (
    <span title={instantText(instant, agency.timezone)}>{dateText(instant, agency.timezone)}</span>
  )
  if (revokedAt !== null) {
    return (
      <>
        <Badge tone="bad">Revoked</Badge> {day(revokedAt)}
      </>
    )
  }
  if (expiresAt === null) return <span class="muted">Never</span>
  const left = Date.parse(expiresAt) - now
  return (
    <>
      {left <= 0 ? <Badge tone="bad">Expired</Badge> : left < SOON_MS && <Badge tone="warn">Soon</Badge>}{' '}
      {day(expiresAt)}
    </>
  )
}
