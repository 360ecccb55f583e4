/** The people of an agency, and the links that let them in (docs/design.md#people). */
import { type Static, Type } from '@sinclair/typebox'
import { INVITATION_HOURS, joinUrl, type PersonLink } from '../../accounts/person-links.ts'
import type { PersonAccess } from '../../accounts/person-rows.ts'
import { type Agency, isSandbox, LIVE_CREDENTIALS_MAX, ROLES } from '../../core/catalogue/agency.ts'
import type { Person } from '../../core/catalogue/people.ts'
import { timestampOf, timestampOrNull } from '../../http/json/booking-json.ts'
import { PAGE_QUERY, pageMembers, pageOf, pageSchema, sliceOf } from '../../http/json/page.ts'
import { PROBLEMS } from '../../http/problem-table.ts'
import { problem } from '../../http/problems.ts'
import { choice, EMAIL_LENGTH_MAX, nullable, text } from '../../http/text-schema.ts'
import { AssertionError } from '../../lib/assert.ts'
import { NO_PEOPLE } from './access-tokens.ts'
import type { PortalLedger } from './portal-dependencies.ts'
import type { PortalOperation } from './portal-operation.ts'
import { AGENCY_PATH, agencyRoute, settled } from './portal-route.ts'
import { label } from './portal-schema.ts'

const PERSON = {
  id: Type.String(),
  name: Type.String(),
  email: nullable(Type.String()),
  role: choice(ROLES),
  createdAt: Type.String({ format: 'date-time' }),
}
const PersonJson = Type.Object(PERSON, { $id: 'Person' })

const ListedPersonJson = Type.Object(
  {
    ...PERSON,
    invitedUntil: nullable(
      Type.String({ format: 'date-time', description: 'When the unused invitation expires. Null: there is none.' }),
    ),
    passkeys: nullable(
      Type.Integer({
        minimum: 0,
        description:
          'How many passkeys the person has. Null: the database is away, so `invitedUntil` and `lastSeenAt` are not known either.',
      }),
    ),
    lastSeenAt: nullable(
      Type.String({
        format: 'date-time',
        description: 'Accurate to a few minutes. Null: the person has no passkey that was used and no session.',
      }),
    ),
  },
  { $id: 'ListedPerson' },
)

const InvitationJson = Type.Object(
  {
    link: nullable(
      Type.String({
        description: 'To be opened by the person. Null when the response is a repeated one: no secret is stored.',
      }),
    ),
    expiresAt: Type.String({ format: 'date-time' }),
    mailed: Type.Boolean({ description: 'Whether a mail server has accepted the link for the person.' }),
  },
  { $id: 'Invitation' },
)
type Invitation = Static<typeof InvitationJson>

const NAME = label(120, 'As shown in the audit trail.')
const EMAIL = nullable(
  text({
    format: 'email',
    maxLength: EMAIL_LENGTH_MAX,
    description: 'Unique within the agency, without regard to case.',
  }),
)
const ROLE = choice(ROLES, {
  description:
    '`viewer` reads everything but secrets; `desk` also writes bookings and guests; `manager` also units, rates, fee types and ' +
    'calendar feeds, and sends webhooks again; `owner` also people, API keys, webhook endpoints and access tokens.',
})
const LINK = `The link is good for ${INVITATION_HOURS} hours and one use, and shown only in this response.`

const LIST_PEOPLE = {
  id: 'listPeople',
  role: 'owner',
  method: 'GET',
  path: `${AGENCY_PATH}/people`,
  tag: 'People',
  summary: 'List the people of an agency, oldest first',
  query: Type.Object(PAGE_QUERY),
  answer: { status: 200, description: 'A page of results.', schema: pageSchema('people', ListedPersonJson) },
} as const satisfies PortalOperation

const CREATE_PERSON = {
  id: 'createPerson',
  role: 'owner',
  method: 'POST',
  path: `${AGENCY_PATH}/people`,
  tag: 'People',
  summary: 'Invite a person',
  description: `${LINK} There is none where the operator's provider is the only way to sign in. An agency has at most ${LIVE_CREDENTIALS_MAX} people.`,
  body: Type.Object({ name: NAME, email: Type.Optional(EMAIL), role: ROLE }),
  bodyExample: { name: 'Maria', email: 'maria@example.com', role: 'desk' },
  answer: {
    status: 201,
    description: 'The person, and the link to invite them with. Null: they sign in with the provider.',
    schema: Type.Object({ person: PersonJson, invitation: nullable(InvitationJson) }),
  },
  problems: ['EMAIL_TAKEN', 'FEATURE_DISABLED'],
} as const satisfies PortalOperation

const UPDATE_PERSON = {
  id: 'updatePerson',
  role: 'owner',
  method: 'PATCH',
  path: `${AGENCY_PATH}/people/{personId}`,
  tag: 'People',
  summary: 'Change a person',
  description:
    'A new role takes effect immediately, and ends the sessions of the person. Another e-mail address does, too, and ends the links that were sent to the former one.',
  body: Type.Object({ name: Type.Optional(NAME), email: Type.Optional(EMAIL), role: Type.Optional(ROLE) }),
  bodyExample: { role: 'manager' },
  answer: { status: 200, description: 'The person.', schema: Type.Object({ person: PersonJson }) },
  problems: ['EMAIL_TAKEN', 'LAST_OWNER'],
} as const satisfies PortalOperation

const REMOVE_PERSON = {
  id: 'removePerson',
  role: 'owner',
  method: 'DELETE',
  path: `${AGENCY_PATH}/people/{personId}`,
  tag: 'People',
  summary: 'Remove a person',
  description:
    'Permanent, and takes effect immediately: sessions, passkeys and links of the person end, and their e-mail address is deleted. Their name stays in the audit trail.',
  answer: { status: 200, description: 'The removed person.', schema: Type.Object({ person: PersonJson }) },
  problems: ['LAST_OWNER'],
} as const satisfies PortalOperation

const INVITE_PERSON = {
  id: 'invitePerson',
  role: 'owner',
  method: 'POST',
  path: `${AGENCY_PATH}/people/{personId}/invitations`,
  tag: 'People',
  summary: 'Invite a person again',
  description: `${LINK} It replaces an earlier one. When it is used, the passkeys and sessions that the person has end.`,
  answer: { status: 201, description: 'The link.', schema: Type.Object({ invitation: InvitationJson }) },
  problems: ['OIDC_ONLY'],
} as const satisfies PortalOperation

type MadeLink = { readonly link: PersonLink }

const OIDC_ONLY = problem('OIDC_ONLY', PROBLEMS.OIDC_ONLY.example.title, {})
const shown = (person: Person) => ({ person: personJson(person) })
/** What is kept of an answer with a link. */
const withoutLink = ({ link }: MadeLink) => ({
  invitation: { link: null, expiresAt: timestampOf(link.expiresAt), mailed: false },
})

export const PEOPLE = [
  agencyRoute(LIST_PEOPLE, async ({ ledger, agency, query }) => {
    const page = pageOf(query)
    const all = ledger.catalogue.peopleOf(agency.id)
    const accessOf = await accessByPerson(ledger, agency)
    const now = ledger.clock.now()
    const people = sliceOf(all, page).map((person) => listedJson(person, accessOf, now))
    return JSON.stringify({ people, ...pageMembers(page, all.length) })
  }),
  agencyRoute(CREATE_PERSON, async ({ ledger, caller, keep, agency, body }) => {
    if (isSandbox(agency)) return NO_PEOPLE
    const { name, email = null, role } = body
    const kept = keep.of(({ person, invitation }: { person: Person; invitation: MadeLink | null }) => ({
      ...shown(person),
      ...(invitation === null ? { invitation } : withoutLink(invitation)),
    }))
    const outcome = await ledger.people.create(agency, { name, email, role }, caller, kept)
    if (outcome.kind !== 'done') return settled(outcome, 'person', shown)
    const { person, invitation } = outcome.value
    if (invitation !== null)
      return JSON.stringify({
        ...shown(person),
        invitation: await invitationJson(ledger, agency, { person, ...invitation }),
      })
    const link = `${ledger.pageUrl()}/portal/`
    if (email !== null) await ledger.mailInvitation({ to: email, name, agency, link, expiresAt: null })
    return JSON.stringify({ ...shown(person), invitation })
  }),
  agencyRoute(
    UPDATE_PERSON,
    async ({ ledger, caller, keep, agency, path, body }) =>
      settled(await ledger.people.update(agency, path.personId, body, caller, keep.of(shown)), 'person', shown),
    { isRevocation: ({ body }) => body.role !== undefined || body.email !== undefined },
  ),
  agencyRoute(
    REMOVE_PERSON,
    async ({ ledger, caller, keep, agency, path }) =>
      settled(await ledger.people.remove(agency, path.personId, caller, keep.of(shown)), 'person', shown),
    { isRevocation: () => true },
  ),
  agencyRoute(INVITE_PERSON, async ({ ledger, caller, keep, agency, path }) => {
    if (ledger.provider?.isOnly === true) return OIDC_ONLY
    const outcome = await ledger.people.invite(agency, path.personId, caller, keep.of(withoutLink))
    if (outcome.kind !== 'done') return settled(outcome, 'person', withoutLink)
    return JSON.stringify({ invitation: await invitationJson(ledger, agency, outcome.value) })
  }),
]

async function invitationJson(
  ledger: PortalLedger,
  agency: Agency,
  { person, link, secret }: MadeLink & { readonly person: Person; readonly secret: string },
): Promise<Invitation> {
  const { name, email } = person
  const { expiresAt } = link
  const url = joinUrl(ledger.pageUrl(), secret)
  const mailed = email !== null && (await ledger.mailInvitation({ to: email, name, agency, link: url, expiresAt }))
  return { link: url, expiresAt: timestampOf(expiresAt), mailed }
}

function personJson({ id, name, email, role, createdAt }: Person): Static<typeof PersonJson> {
  return { id, name, email, role, createdAt: timestampOf(createdAt) }
}

/** Null when the database does not say: people can be removed all the same. */
async function accessByPerson(ledger: PortalLedger, { id }: Agency): Promise<ReadonlyMap<string, PersonAccess> | null> {
  try {
    return new Map((await ledger.personAccessOf(id)).map((access) => [access.personId, access]))
  } catch (error) {
    if (error instanceof AssertionError) throw error
    return null
  }
}

function listedJson(
  person: Person,
  accessOf: ReadonlyMap<string, PersonAccess> | null,
  now: number,
): Static<typeof ListedPersonJson> {
  const unknown = { passkeys: accessOf === null ? null : 0, invitedUntil: null, lastSeenAt: null }
  const { passkeys, invitedUntil, lastSeenAt } = accessOf?.get(person.id) ?? unknown
  return {
    ...personJson(person),
    invitedUntil: invitedUntil !== null && invitedUntil > now ? timestampOf(invitedUntil) : null,
    passkeys,
    lastSeenAt: timestampOrNull(lastSeenAt),
  }
}
