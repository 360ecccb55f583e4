import './people.css'
import { useState } from 'preact/hooks'
import { answerOf, client } from '../../api/client.ts'
import { useMutation } from '../../data/use-mutation.ts'
import { useResource } from '../../data/use-resource.ts'
import { ROLES, roleLabel, useSession } from '../../data/use-session.ts'
import { Badge } from '../../design/badge.tsx'
import { Button } from '../../design/button.tsx'
import { Card, PageHeader } from '../../design/card.tsx'
import { ConfirmDialog } from '../../design/dialog.tsx'
import { EmptyState, ErrorNote, Note, Skeleton } from '../../design/feedback.tsx'
import { Checkbox } from '../../design/inputs.tsx'
import { type Column, Table } from '../../design/table.tsx'
import { toast } from '../../design/toast.tsx'
import { dateText, instantText } from '../../format/instants.ts'
import { setQuery, useRoute } from '../../route/router.ts'
import { NewPerson, type Token } from './new-person.tsx'

const PAGE_SIZE = 200

/** All of them: those that have ended never go, so an old agency has several pages. */
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

/** The people of the agency, each with an access token of their own. */
export function PeopleScreen() {
  const { may } = useSession()
  if (may('owner')) return <People />
  return (
    <>
      <PageHeader title="People" />
      <Card>
        <EmptyState icon="user" title="For owners only">
          Only owners can see who has access and change it. Ask an owner if you need to do more.
        </EmptyState>
      </Card>
    </>
  )
}

function People() {
  const { path, agency } = useSession()
  const { query } = useRoute()
  const [isCreating, setCreating] = useState(false)
  const [revoking, setRevoking] = useState<Token | null>(null)
  const { data, error, refresh } = useResource('people', (signal) => allTokens(path, signal))
  const showsAll = query['all'] === 'true'
  const now = Date.now()
  const tokens = data ?? []
  const active = tokens.filter((token) => tokenState(token, now) === 'active')
  const ended = tokens.length - active.length
  const add = (
    <Button tone="primary" icon="plus" onClick={() => setCreating(true)}>
      Add person
    </Button>
  )
  return (
    <>
      <PageHeader
        title="People"
        description={`Who can sign in to ${agency.name}. Give each person an access token of their own, so that the audit trail names them and their access can be revoked without affecting anyone else.`}
        actions={add}
      />
      <ErrorNote problem={error} onRetry={refresh} />
      {data === undefined && error === null && <Skeleton />}
      {data !== undefined && (
        <Card isFlush>
          {active.length === 0 && !showsAll ? (
            <EmptyState icon="user" title="Nobody has access yet" action={add}>
              Add the first person and give them the token to sign in with.
            </EmptyState>
          ) : (
            <PeopleTable tokens={showsAll ? tokens : active} now={now} onRevoke={setRevoking} />
          )}
        </Card>
      )}
      {ended > 0 && (
        <Checkbox
          label={`Show revoked and expired access (${ended})`}
          isChecked={showsAll}
          onChange={(isChecked) => setQuery({ all: isChecked ? true : null }, { replace: true })}
        />
      )}
      <Card title="What each role may do">
        <dl class="people-roles">
          {ROLES.map(({ role, label, hint }) => (
            <div key={role}>
              <dt>{label}</dt>
              <dd>{hint}</dd>
            </div>
          ))}
        </dl>
      </Card>
      {isCreating && <NewPerson onClose={() => setCreating(false)} />}
      {revoking !== null && (
        <RevokeAccess
          token={revoking}
          isLastOwner={
            revoking.role === 'owner' && !active.some(({ id, role }) => role === 'owner' && id !== revoking.id)
          }
          onClose={() => setRevoking(null)}
        />
      )}
    </>
  )
}

const SOON_MS = 14 * 86_400_000

function PeopleTable({
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

/** Asks before a person is shut out for good. */
function RevokeAccess({ token, isLastOwner, onClose }: { token: Token; isLastOwner: boolean; onClose: () => void }) {
  const { path, actor } = useSession()
  const isOwn = token.id === actor.id
  const { run, isRunning, problem } = useMutation({
    send: (tokenId: string, header) =>
      answerOf(
        client.DELETE('/portal/v1/agencies/{agencySlug}/access-tokens/{tokenId}', {
          params: { path: { ...path, tokenId }, header },
        }),
      ),
    invalidates: ['people'],
    onDone: () => {
      toast({ tone: 'good', text: `${token.name}’s access has been revoked` })
      onClose()
    },
    report: 'inline',
  })
  return (
    <ConfirmDialog
      title={`Revoke ${token.name}’s access?`}
      action="Revoke access"
      isBusy={isRunning}
      problem={problem}
      onConfirm={() => void run(token.id)}
      onClose={onClose}
    >
      <p>
        {isOwn ? 'You are' : `${token.name} is`} signed out immediately, and the token stops working. A revoked token
        cannot be restored, but you can create a new one.
      </p>
      {isOwn && <Note tone="warn">This is your own access: you will not be able to sign in with it again.</Note>}
      {isLastOwner && (
        <Note tone="warn">
          This is the last owner. Without one, only the operator of the service can give access again.
        </Note>
      )}
    </ConfirmDialog>
  )
}

/** @param now milliseconds */
function tokenState({ revokedAt, expiresAt }: Token, now: number): 'active' | 'expired' | 'revoked' {
  if (revokedAt !== null) return 'revoked'
  return expiresAt !== null && Date.parse(expiresAt) <= now ? 'expired' : 'active'
}
