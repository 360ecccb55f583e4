import { useState } from 'preact/hooks'
import { answerOf, client } from '../../api/client.ts'
import { useMutation } from '../../data/use-mutation.ts'
import { useResource } from '../../data/use-resource.ts'
import { roleLabel, useSession } from '../../data/use-session.ts'
import { Badge } from '../../design/badge.tsx'
import { Button } from '../../design/button.tsx'
import { Card } from '../../design/card.tsx'
import { ConfirmDialog } from '../../design/dialog.tsx'
import { EmptyState, LoadStatus, Note } from '../../design/feedback.tsx'
import { Checkbox } from '../../design/inputs.tsx'
import { type Column, Table } from '../../design/table.tsx'
import { toast } from '../../design/toast.tsx'
import { dateText, instantText } from '../../format/instants.ts'
import { realTime } from '../../lib/present.ts'
import { setQuery, useRoute } from '../../route/router.ts'
import { NewToken, type Token } from './new-token.tsx'

const PAGE_SIZE = 200

/** All tokens: revoked and expired ones stay in the list, so an old agency has several pages. */
async function allTokens(path: { readonly agencySlug: string }, signal: AbortSignal): Promise<Token[]> {
  const tokens: Token[] = []
  for (let page = 1, pages = 1; page <= pages; page++) {
    const params = { path, query: { page, pageSize: PAGE_SIZE } }
    const read = await answerOf(client.GET('/portal/v1/agencies/{agencySlug}/access-tokens', { params, signal }))
    tokens.push(...read.accessTokens)
    pages = read.pageCount
  }
  return tokens
}

/** The access tokens with which programs of the agency use the portal API. */
export function TokensCard() {
  const { path } = useSession()
  const { query } = useRoute()
  const [isCreating, setCreating] = useState(false)
  const [revoking, setRevoking] = useState<Token | null>(null)
  const { data, error, refresh } = useResource('access-tokens', (signal) => allTokens(path, signal))
  const showsAll = query['all'] === 'true'
  const now = realTime()
  const tokens = data ?? []
  const active = tokens.filter((token) => tokenState(token, now) === 'active')
  const ended = tokens.length - active.length
  const shown = showsAll ? tokens : active
  return (
    <>
      <Card
        title="For programs"
        isFlush
        aside={
          <Button size="s" icon="plus" onClick={() => setCreating(true)}>
            Create token
          </Button>
        }
      >
        <LoadStatus of={{ data, error, refresh }} />
        {data !== undefined && shown.length === 0 && (
          <EmptyState icon="keys" title="No access tokens">
            Create one for a program that works for the agency, such as a script.
          </EmptyState>
        )}
        {shown.length > 0 && <TokenTable tokens={shown} now={now} onRevoke={setRevoking} />}
      </Card>
      {ended > 0 && (
        <Checkbox
          label={`Show revoked and expired tokens (${ended})`}
          isChecked={showsAll}
          onChange={(isChecked) => setQuery({ all: isChecked ? true : null }, { replace: true })}
        />
      )}
      {isCreating && <NewToken onClose={() => setCreating(false)} />}
      {revoking !== null && <RevokeToken token={revoking} onClose={() => setRevoking(null)} />}
    </>
  )
}

const SOON_MS = 14 * 86_400_000

function TokenTable({
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
    { key: 'expires', head: 'Expires', cell: (token) => <Ending token={token} now={now} /> },
    {
      key: 'actions',
      head: 'Actions',
      isActions: true,
      cell: (token) =>
        tokenState(token, now) === 'active' && (
          <Button tone="quiet" size="s" aria-label={`Revoke ${token.name}`} onClick={() => onRevoke(token)}>
            Revoke
          </Button>
        ),
    },
  ]
  return (
    <Table
      caption="Access tokens"
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

/** Asks before a program loses access permanently. */
function RevokeToken({ token, onClose }: { token: Token; onClose: () => void }) {
  const { path, actor } = useSession()
  const { run, isRunning, problem } = useMutation({
    send: (tokenId: string, header) =>
      answerOf(
        client.DELETE('/portal/v1/agencies/{agencySlug}/access-tokens/{tokenId}', {
          params: { path: { ...path, tokenId }, header },
        }),
      ),
    invalidates: ['access-tokens'],
    onDone: () => {
      toast({ tone: 'good', text: `${token.name} has been revoked` })
      onClose()
    },
    report: 'inline',
  })
  return (
    <ConfirmDialog
      title={`Revoke ${token.name}?`}
      action="Revoke token"
      isBusy={isRunning}
      problem={problem}
      onConfirm={() => void run(token.id)}
      onClose={onClose}
    >
      <p>Requests with this token are refused immediately. A revoked token cannot be restored.</p>
      {token.id === actor.id && (
        <Note tone="warn">You are signed in with this token: revoking it also signs you out.</Note>
      )}
    </ConfirmDialog>
  )
}

/** @param now milliseconds */
function tokenState({ revokedAt, expiresAt }: Token, now: number): 'active' | 'expired' | 'revoked' {
  if (revokedAt !== null) return 'revoked'
  return expiresAt !== null && Date.parse(expiresAt) <= now ? 'expired' : 'active'
}
