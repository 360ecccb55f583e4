import './people.css'
import { useState } from 'preact/hooks'
import { answerOf, client } from '../../api/client.ts'
import { useResource } from '../../data/use-resource.ts'
import { useSession } from '../../data/use-session.ts'
import { Button } from '../../design/button.tsx'
import { Card, PageHeader } from '../../design/card.tsx'
import { EmptyState, ErrorNote, Skeleton } from '../../design/feedback.tsx'
import { Checkbox } from '../../design/inputs.tsx'
import { setQuery, useRoute } from '../../route/router.ts'
import { NewPerson } from './new-person.tsx'
import { PeopleTable } from './people-table.tsx'
import { RevokeAccess } from './revoke-access.tsx'
import { ROLES, type Token, tokenState } from './roles.ts'

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
