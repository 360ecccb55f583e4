import { signedHeaders } from '../../../../src/events/webhooks/secret-box.ts'

/*
 * `bun test/events/webhooks/support/make-vectors.ts` writes docs/webhooks/vectors.json; test/events/webhooks/signature.test.ts checks
 * the file.
 */

export const VECTORS_FILE = 'docs/webhooks/vectors.json'

/** Unused secrets, so that the vectors can be public. */
const FIRST = `whsec_${Buffer.from(Uint8Array.from({ length: 32 }, (_, i) => i)).toString('base64')}`
const SECOND = `whsec_${Buffer.from(Uint8Array.from({ length: 32 }, (_, i) => 255 - i)).toString('base64')}`

const CREATED =
  '{"id":"evt_01a1fc67d5ad70b08731a17623d0c8dc","event":"booking.created","occurredAt":"2026-11-21T04:40:25.773Z","seq":2,"data":{"id":"bkg_01a1fc67d5ad70ae9d753ebd45de4787","unitSlug":"sea-view","unitName":"Sea View","type":"guest","status":"confirmed","source":"partner","sourceRef":null,"arrival":"2027-03-01","departure":"2027-03-04","nights":3,"adults":2,"children":0,"totalAmount":35000,"currency":"EUR","version":1}}'
const PING =
  '{"id":"evt_01a1fc67d5c877f3b4551a5386fe687a","event":"ping","occurredAt":"2026-11-21T04:40:25.800Z","data":{}}'
const UNICODE =
  '{"id":"evt_01a1fc67d5ad70b08731a17623d0c8dd","event":"booking.updated","occurredAt":"2026-11-21T04:41:00.000Z","seq":3,"data":{"unitName":"Änne’s 🏡 “Zoë”"}}'

interface Vector {
  name: string
  secrets: string[]
  eventId: string
  t: number
  body: string
  headers: Record<string, string>
}

export function makeVectors(): { about: string; vectors: Vector[] } {
  const cases: [name: string, secrets: string[], body: string, t: number][] = [
    ['a booking', [FIRST], CREATED, 1_795_236_025],
    ['a ping', [FIRST], PING, 1_795_236_025],
    ['characters beyond ASCII are signed as UTF-8', [FIRST], UNICODE, 1_795_236_060],
    ['a retry: the same id and bytes, a new time', [FIRST], CREATED, 1_795_236_085],
    ['another endpoint’s secret', [SECOND], CREATED, 1_795_236_025],
    ['during a rotation: the new secret first, the old one beside it', [SECOND, FIRST], CREATED, 1_795_236_025],
  ]
  return {
    about: 'Every header that carries a signature, for checking a receiver. The secrets belong to nobody.',
    vectors: cases.map(([name, secrets, body, t]) => {
      const eventId = String(JSON.parse(body).id)
      const signed = signedHeaders({ eventId, body, at: t * 1_000, secrets })
      const names = ['x-service-signature', 'webhook-id', 'webhook-timestamp', 'webhook-signature']
      return {
        name,
        secrets,
        eventId,
        t,
        body,
        headers: Object.fromEntries(names.map((header) => [header, signed[header] ?? ''])),
      }
    }),
  }
}

if (import.meta.main) {
  await Bun.write(VECTORS_FILE, `${JSON.stringify(makeVectors(), null, 2)}\n`)
  console.log(`Wrote ${VECTORS_FILE}`)
}
