// A webhook receiver for Node 20 or newer, and for Bun. No packages.
//   WEBHOOK_SECRET=whsec_… PORT=9000 node receiver.js
import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer } from 'node:http'

const SECRET = process.env.WEBHOOK_SECRET ?? ''
const TOLERANCE_S = 300
const BODY_BYTES_MAX = 1_000_000

/** True if one of the header's v1 values is ours, over the raw bytes, and its time is near. During a rotation there are two. */
export function isGenuine(rawBody, header, secret, nowS = Math.floor(Date.now() / 1000)) {
  const parts = String(header ?? '')
    .split(',')
    .map((part) => part.trim())
  const t = parts.find((part) => part.startsWith('t='))?.slice(2) ?? ''
  if (!/^\d{1,12}$/.test(t) || Math.abs(nowS - Number(t)) > TOLERANCE_S) return false
  const expected = createHmac('sha256', secret).update(`${t}.`).update(rawBody).digest()
  return parts
    .filter((part) => part.startsWith('v1='))
    .map((part) => Buffer.from(part.slice(3), 'hex'))
    .some((given) => given.length === expected.length && timingSafeEqual(given, expected))
}

/** Ids that were handled. Keep them in your database, under a unique index, for two days. */
const seen = new Set()

const server = createServer(async (request, response) => {
  const chunks = []
  let bytes = 0
  try {
    for await (const chunk of request) {
      bytes += chunk.length
      if (bytes > BODY_BYTES_MAX) return response.writeHead(413).end()
      chunks.push(chunk)
    }
  } catch {
    // The sender has gone. Uncaught, this would end the program.
    return
  }
  const rawBody = Buffer.concat(chunks)
  if (!isGenuine(rawBody, request.headers['x-service-signature'], SECRET)) return response.writeHead(401).end()
  const event = JSON.parse(rawBody.toString('utf8'))
  if (!seen.has(event.id)) {
    seen.add(event.id)
    console.log(event.event, event.data.id ?? '')
  }
  // Answer first, work later: after 10 seconds the delivery counts as failed.
  response.writeHead(204).end()
})
server.listen(Number(process.env.PORT ?? 9000), '127.0.0.1', () => console.log(`listening ${server.address().port}`))
