import { useState } from 'preact/hooks'
import { answerOf, client } from '../api/client.ts'
import type { Actor } from '../api/session.ts'
import { useResource } from '../data/use-resource.ts'
import { Badge } from '../design/badge.tsx'
import { Button } from '../design/button.tsx'
import { EmptyState, LoadStatus } from '../design/feedback.tsx'
import { Icon } from '../design/icon.tsx'
import { TextInput } from '../design/inputs.tsx'
import { Pager } from '../design/table.tsx'
import { chooseAgency, signOut } from './sign-in.ts'
import { Front } from './sign-in-screen.tsx'

const PAGE_SIZE = 200
const SEARCH_FROM = 8

/** The operator's token opens every agency: which one? */
export function AgencyChoice({ actor }: { actor: Actor }) {
  const [page, setPage] = useState(1)
  const [search, setSearch] = useState('')
  const { data, error, refresh } = useResource(`agencies?page=${page}`, (signal) =>
    answerOf(client.GET('/portal/v1/agencies', { params: { query: { page, pageSize: PAGE_SIZE } }, signal })),
  )
  const wanted = search.trim().toLowerCase()
  const found = data?.agencies.filter(({ name, slug }) => `${name} ${slug}`.toLowerCase().includes(wanted)) ?? []
  return (
    <Front title="Choose an agency">
      <LoadStatus of={{ data, error, refresh }} />
      {data !== undefined && data.totalItems > SEARCH_FROM && (
        <TextInput
          label="Search"
          isLabelHidden
          type="search"
          placeholder="Search"
          value={search}
          onChange={setSearch}
        />
      )}
      {data !== undefined && data.totalItems === 0 && (
        <EmptyState icon="home" title="No agencies yet">
          Create one with the command line: nightledger agencies create.
        </EmptyState>
      )}
      <ul class="choice-list">
        {found.map((agency) => (
          <li key={agency.id}>
            <button type="button" class="choice" onClick={() => chooseAgency(actor, agency)}>
              <span>
                <span class="choice-name">{agency.name}</span> <span class="muted">{agency.slug}</span>
              </span>
              <span class="choice-end">
                {agency.status === 'suspended' && <Badge tone="warn">Suspended</Badge>}
                <Icon name="right" />
              </span>
            </button>
          </li>
        ))}
      </ul>
      {data !== undefined && <Pager page={page} pageSize={PAGE_SIZE} totalItems={data.totalItems} onPage={setPage} />}
      <Button tone="quiet" icon="signout" onClick={() => void signOut()}>
        Sign out
      </Button>
    </Front>
  )
}
