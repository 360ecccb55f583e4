/** People who sign in as they do on the page, with a software authenticator. */
import { randomBytes } from 'node:crypto'
import { Passkeys } from '../../src/accounts/passkeys.ts'
import { LinkSecrets } from '../../src/accounts/person-links.ts'
import { PersonSignIn } from '../../src/accounts/person-sign-in.ts'
import type { Agency, Role } from '../../src/core/catalogue/agency.ts'
import { PostgresPersonRows } from '../../src/postgres/stores/postgres-person-rows.ts'
import { answerWith, type Device, makePasskey } from './authenticator.ts'
import { type HttpAnswer, send } from './http-call.ts'
import { FROM_THE_PAGE } from './page-sessions.ts'
import { TEST_PAGE_URL, TEST_SECRET_KEY } from './service-process.ts'
import type { TestService } from './test-service.ts'

type Service = Pick<TestService, 'ask' | 'url'>

export interface Joined {
  readonly person: { readonly id: string; readonly name: string; readonly role: Role }
  /** `nightledger_session=…`, as the browser sends it back. */
  readonly cookie: string
  readonly device: Device
}

const SECRET_KEY = Uint8Array.fromHex(TEST_SECRET_KEY)
/** Makes links as a service with TEST_SECRET_KEY does. */
export const TEST_LINKS = new LinkSecrets({ secretKey: SECRET_KEY, random: randomBytes })

/** Signing in, step by step: what requests do between two of its steps, a test may do too. */
export function personSignInOf({ ledger }: Pick<TestService, 'ledger'>): PersonSignIn {
  const { sql, lists, epochOf, clock } = ledger
  return new PersonSignIn({
    ...ledger,
    rows: new PostgresPersonRows(sql, { lists, epochOf }),
    passkeys: new Passkeys({ secretKey: SECRET_KEY, publicUrl: () => TEST_PAGE_URL, clock }),
    changes: { isEnding: () => false },
    links: TEST_LINKS,
  })
}

/** A link that signs a person in, as `npm start` prints one. @returns its secret */
export function makeSignInLink(
  { ledger }: Pick<TestService, 'ledger'>,
  agency: Agency,
  { id }: Pick<Joined['person'], 'id'>,
  lifetimeMs: number,
): Promise<string> {
  const person = ledger.catalogue.personById(agency.id, id)
  if (person === null) throw new Error('Expected a person')
  return personSignInOf({ ledger }).makeSignInLink(person, lifetimeMs)
}

/** What somebody who has not signed in sends from the page. */
export function fromThePage(
  { url }: Pick<Service, 'url'>,
  path: string,
  json: unknown,
  headers: Record<string, string> = {},
) {
  return send(`${url}${path}`, { method: 'POST', json, headers: { ...FROM_THE_PAGE, ...headers } })
}

/** The secret in the address of a link. */
export function secretIn(link: string): string {
  return link.slice(link.lastIndexOf('/') + 1)
}

export function cookieOf({ headers }: HttpAnswer): string {
  return headers.get('set-cookie')?.split(';')[0] ?? ''
}

export async function invite(service: Service, agency: Agency, draft: { name?: string; role: Role; email?: string }) {
  const made = await service.ask(`/agencies/${agency.slug}/people`, { name: `The ${draft.role}`, ...draft })
  if (made.status !== 201) throw new Error(`Expected a person: ${made.body.title}`)
  return { person: made.body.person as Joined['person'], secret: secretIn(made.body.invitation?.link ?? '') }
}

/** Opens an invitation, makes a passkey, and signs in with it. */
export async function accept(service: Pick<Service, 'url'>, secret: string, { signCount = 0, headers = {} } = {}) {
  const shown = await fromThePage(service, '/portal/links', { link: secret })
  const { device, passkey } = makePasskey(shown.body.options, { signCount })
  const answer = await fromThePage(service, '/portal/session', { link: secret, name: 'laptop', passkey }, headers)
  return { device, passkey, answer, cookie: cookieOf(answer) }
}

/** A person of the agency who has accepted their invitation. */
export async function joined(service: Service, agency: Agency, role: Role, name = `The ${role}`): Promise<Joined> {
  const { person, secret } = await invite(service, agency, { name, role })
  const { answer, cookie, device } = await accept(service, secret)
  if (answer.status !== 200) throw new Error(`Expected to be signed in: ${answer.body.title}`)
  return { person, cookie, device }
}

export async function signInOptions(service: Pick<Service, 'url'>) {
  return (await fromThePage(service, '/portal/sign-in/options', undefined)).body.options
}

/** Signs in with a passkey. @param how as `answerWith` */
export async function signInWith(
  service: Pick<Service, 'url'>,
  device: Device,
  how: Parameters<typeof answerWith>[2] = {},
  headers: Record<string, string> = {},
): Promise<HttpAnswer> {
  const passkey = answerWith(device, await signInOptions(service), how)
  return fromThePage(service, '/portal/session', { passkey }, headers)
}
