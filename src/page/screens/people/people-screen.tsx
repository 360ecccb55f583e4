import './people.css'
import { useState } from 'preact/hooks'
import { answerOf, client } from '../../api/client.ts'
import { useResource } from '../../data/use-resource.ts'
import { ROLES, useSession } from '../../data/use-session.ts'
import { Button } from '../../design/button.tsx'
import { Card, PageHeader } from '../../design/card.tsx'
import { EmptyState, LoadStatus } from '../../design/feedback.tsx'
import { EditPerson, NewPerson } from './person-form.tsx'
import { type Person, PersonTable } from './person-table.tsx'
import { RemovePerson } from './remove-person.tsx'
import { SendLink } from './send-link.tsx'
import { TokensCard } from './tokens-card.tsx'

/** The most people an agency can have, so one page has them all. */
const PEOPLE_MAX = 200

/** The people of the agency, and the programs that act for it. */
export function PeopleScreen() {
  const { may, agency } = useSession()
  if (!may('owner')) {
    return (
      <Nobody title="For owners only">
        Only owners can see who has access and change it. Ask an owner if you need to do more.
      </Nobody>
    )
  }
  if (agency.sandboxOf !== null) {
    return (
      <Nobody title="The sandbox has no people of its own">
        Owners of the agency use its sandbox. Leave the sandbox to see who has access.
      </Nobody>
    )
  }
  return <People />
}

function Nobody({ title, children }: { title: string; children: string }) {
  return (
    <>
      <PageHeader title="People" />
      <Card>
        <EmptyState icon="user" title={title}>
          {children}
        </EmptyState>
      </Card>
    </>
  )
}

type Doing = { readonly what: 'edit' | 'link' | 'remove'; readonly person: Person } | { readonly what: 'add' } | null

function People() {
  const { path, agency } = useSession()
  const [doing, setDoing] = useState<Doing>(null)
  const { data, error, refresh } = useResource('people', (signal) =>
    answerOf(
      client.GET('/portal/v1/agencies/{agencySlug}/people', {
        params: { path, query: { pageSize: PEOPLE_MAX } },
        signal,
      }),
    ),
  )
  const close = () => setDoing(null)
  const add = (
    <Button tone="primary" icon="plus" onClick={() => setDoing({ what: 'add' })}>
      Add person
    </Button>
  )
  return (
    <>
      <PageHeader
        title="People"
        description={`Who can sign in to ${agency.name}. The audit trail names each of them. Removing a person signs them out immediately.`}
        actions={add}
      />
      <LoadStatus of={{ data, error, refresh }} />
      {data !== undefined && (
        <Card isFlush>
          {data.people.length === 0 ? (
            <EmptyState icon="user" title="No people yet" action={add}>
              Add the first person, then give them the link to create their passkey.
            </EmptyState>
          ) : (
            <PersonTable people={data.people} onAct={(what, person) => setDoing({ what, person })} />
          )}
        </Card>
      )}
      <TokensCard />
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
      {doing?.what === 'add' && <NewPerson onClose={close} />}
      {doing?.what === 'edit' && <EditPerson person={doing.person} onClose={close} />}
      {doing?.what === 'link' && <SendLink person={doing.person} onClose={close} />}
      {doing?.what === 'remove' && <RemovePerson person={doing.person} onClose={close} />}
    </>
  )
}
