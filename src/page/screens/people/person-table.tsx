import type { Schema } from '../../api/schema.ts'
import { useResource } from '../../data/use-resource.ts'
import { roleLabel, useSession } from '../../data/use-session.ts'
import { When } from '../../data/when.tsx'
import { Badge } from '../../design/badge.tsx'
import { Menu } from '../../design/menu.tsx'
import { type Column, Table } from '../../design/table.tsx'
import { instantText } from '../../format/instants.ts'
import { nameText } from '../../format/texts.ts'
import { readWays } from '../../sign-in/sign-in.ts'

export type Person = Schema<'Person'>

export function PersonTable({
  people,
  onAct,
}: {
  people: readonly Person[]
  onAct: (what: 'edit' | 'link' | 'remove', person: Person) => void
}) {
  const { agency, actor } = useSession()
  // Where the identity provider is the only way to sign in, a link would be refused.
  const { data: ways } = useResource('sign-in', readWays)
  const columns: Column<Person>[] = [
    {
      key: 'name',
      head: 'Name',
      cell: ({ id, name, email }) => (
        <div class="people-name">
          <span>
            {nameText(name)} {id === actor.id && <Badge tone="info">You</Badge>}
          </span>
          {email !== null && <span class="people-email">{email}</span>}
        </div>
      ),
    },
    {
      key: 'role',
      head: 'Role',
      cell: ({ role }) => <Badge tone={role === 'owner' ? 'accent' : 'neutral'}>{roleLabel(role)}</Badge>,
    },
    {
      key: 'passkeys',
      head: 'Passkeys',
      cell: ({ passkeys, invitedUntil }) => (
        <span class="people-passkeys">
          {passkeys === null && <span class="muted">Unknown</span>}
          {passkeys === 0 && invitedUntil === null && <span class="muted">None</span>}
          {passkeys !== 0 && passkeys}
          {invitedUntil !== null && (
            <span title={`The link is valid until ${instantText(invitedUntil, agency.timezone)}`}>
              <Badge tone="warn">{passkeys === 0 ? 'Invited' : 'New link sent'}</Badge>
            </span>
          )}
        </span>
      ),
    },
    {
      key: 'seen',
      head: 'Last seen',
      // Somebody who signs in with the identity provider only is known to have been here only while their session lasts.
      cell: ({ email, passkeys, invitedUntil, lastSeenAt }) =>
        passkeys === null || (email !== null && passkeys === 0 && invitedUntil === null && lastSeenAt === null) ? (
          <span class="muted">Unknown</span>
        ) : (
          <When instant={lastSeenAt} />
        ),
    },
    {
      key: 'actions',
      head: 'Actions',
      isActions: true,
      cell: (person) => (
        <Menu
          label={`Actions for ${nameText(person.name)}`}
          items={[
            { label: 'Edit', icon: 'edit', onSelect: () => onAct('edit', person) },
            ...(ways?.only === true
              ? []
              : [{ label: 'Send another link', icon: 'refresh', onSelect: () => onAct('link', person) } as const]),
            { label: 'Remove', icon: 'close', isDanger: true, onSelect: () => onAct('remove', person) },
          ]}
        />
      ),
    },
  ]
  return <Table caption="People with access" columns={columns} rows={people} rowKey={({ id }) => id} />
}
