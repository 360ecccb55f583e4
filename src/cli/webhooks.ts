import type { Command } from 'commander'
import { asNumber, asText, asTextOrNull, bodyOf, type Field, withFields } from './fields.ts'
import { type Json, queryOf } from './portal-client.ts'
import { asking, paged, type Session } from './session.ts'
import { type Column, listing, table } from './table.ts'
import type { Terminal } from './terminal.ts'

const URL_FIELD: Field = {
  name: 'url',
  option: 'endpointUrl',
  value: '<address>',
  description: 'https URL, publicly reachable',
  read: asText,
}
const DESCRIPTION: Field = {
  name: 'description',
  value: '<text>',
  description: 'a name, to recognise it',
  read: asTextOrNull,
}

const ENDPOINTS: readonly Column<Json>[] = [
  { title: 'ID', value: ({ id }) => id },
  { title: 'URL', value: ({ url }) => url },
  { title: 'STATUS', value: ({ status }) => status },
  { title: 'REASON', value: ({ disabledReason }) => disabledReason },
  { title: 'FAILURES', value: ({ consecutiveFailures }) => consecutiveFailures, align: 'right' },
]
const DELIVERIES: readonly Column<Json>[] = [
  { title: 'ID', value: ({ id }) => id },
  { title: 'EVENT', value: ({ event }) => event },
  { title: 'STATUS', value: ({ status }) => status },
  { title: 'ATTEMPTS', value: ({ attempts }) => (attempts as Json[]).length, align: 'right' },
  { title: 'LAST', value: ({ attempts }) => lastOf(attempts as Json[]) },
  { title: 'NEXT', value: ({ nextAttemptAt }) => nextAttemptAt },
  { title: 'CREATED', value: ({ createdAt }) => createdAt },
]

function lastOf(attempts: readonly Json[]): unknown {
  const last = attempts.at(-1)
  return last === undefined ? null : (last['httpStatus'] ?? last['reason'])
}

export function webhooks(program: Command, terminal: Terminal): void {
  const noun = program.command('webhooks').description('manage webhook endpoints')
  asking(
    noun,
    { name: 'list', summary: 'list the endpoints', options: paged },
    terminal,
    async (session, { options }) => {
      const { page, pageSize } = options
      const path = await session.agencyPath(`/webhook-endpoints${queryOf({ page, pageSize })}`)
      session.list(await session.client.get(path), 'webhookEndpoints', ENDPOINTS)
    },
  )
  asking(
    noun,
    {
      name: 'create',
      summary: 'register an endpoint; its signing secret is shown only once',
      options: (command) => withFields(command, [URL_FIELD, DESCRIPTION]),
      examples: ['webhooks create --endpoint-url https://example.com/hooks --description "Channel manager"'],
    },
    terminal,
    async (session, { options }) => {
      const body = await bodyOf(options, [URL_FIELD, DESCRIPTION], terminal)
      showSecret(session, await session.client.send('POST', await session.agencyPath('/webhook-endpoints'), body))
    },
  )
  asking(
    noun,
    { name: 'show <id>', summary: 'show an endpoint' },
    terminal,
    async (session, { arguments: [id = ''] }) => {
      session.show(await session.client.get(await endpointPath(session, id)), 'webhookEndpoint')
    },
  )
  asking(
    noun,
    {
      name: 'update <id>',
      summary: "change an endpoint's address or description",
      options: (command) => withFields(command, [URL_FIELD, DESCRIPTION]),
    },
    terminal,
    async (session, { arguments: [id = ''], options }) => {
      const body = await bodyOf(options, [URL_FIELD, DESCRIPTION], terminal)
      session.show(await session.client.send('PATCH', await endpointPath(session, id), body), 'webhookEndpoint')
    },
  )
  asking(
    noun,
    {
      name: 'enable <id>',
      summary: 're-enable an endpoint',
      options: (command) => command.requiredOption('--pending <resend|drop>', 'what to do with held deliveries'),
    },
    terminal,
    async (session, { arguments: [id = ''], options }) => {
      const body = { status: 'active', pending: options.pending }
      session.show(await session.client.send('PATCH', await endpointPath(session, id), body), 'webhookEndpoint')
    },
  )
  asking(
    noun,
    { name: 'delete <id>', summary: 'delete an endpoint' },
    terminal,
    async (session, { arguments: [id = ''] }) => {
      session.show(await session.client.send('DELETE', await endpointPath(session, id)), 'webhookEndpoint')
    },
  )
  asking(
    noun,
    { name: 'ping <id>', summary: 'send a test message and show the response' },
    terminal,
    async (session, { arguments: [id = ''] }) => {
      session.show(await session.client.send('POST', `${await endpointPath(session, id)}/ping`), 'delivery')
    },
  )
  asking(
    noun,
    {
      name: 'rotate-secret <id>',
      summary: 'rotate the signing secret; the new one is shown only once',
      options: (command) =>
        command.option('--overlap-hours <n>', 'hours during which the old secret signs too, 0 to 24'),
    },
    terminal,
    async (session, { arguments: [id = ''], options }) => {
      const body = options.overlapHours === undefined ? {} : { overlapHours: asNumber(options.overlapHours) }
      showSecret(session, await session.client.send('POST', `${await endpointPath(session, id)}/rotate-secret`, body))
    },
  )
  asking(
    noun,
    { name: 'deliveries <id>', summary: 'list the deliveries of an endpoint, newest first', options: paged },
    terminal,
    async (session, { arguments: [id = ''], options }) => {
      const { page, pageSize } = options
      const path = `${await endpointPath(session, id)}/deliveries${queryOf({ page, pageSize })}`
      session.list(await session.client.get(path), 'deliveries', DELIVERIES)
    },
  )
  asking(
    noun,
    { name: 'resend <delivery>', summary: 'resend a delivery' },
    terminal,
    async (session, { arguments: [id = ''] }) => {
      const path = await session.agencyPath(`/deliveries/${encodeURIComponent(id)}/resend`)
      const answer = await session.client.send('POST', path)
      if (session.isJson) session.printJson(answer)
      else terminal.out(table([answer['delivery'] as Json], DELIVERIES))
    },
  )
}

function endpointPath(session: Session, id: string): Promise<string> {
  return session.agencyPath(`/webhook-endpoints/${encodeURIComponent(id)}`)
}

function showSecret(session: Session, answer: Json): void {
  if (session.isJson) {
    session.printJson(answer)
    return
  }
  session.terminal.out(`${listing(answer['webhookEndpoint'] as Json)}\nsecret  ${answer['secret']}\n`)
  session.terminal.err('Store the secret now: it is not shown again.\n')
}
