import { keepAliveClient, noOutcomes } from './keep-alive-client.ts'

/*
 * Many keep-alive clients in a process of their own: `bun keep-alive-clients.ts PORT CLIENTS THINK_MS [REQUEST…]`. They take
 * turns among the requests, until connections are refused; then one JSON line reports their outcomes.
 */

const [port, clients, thinkMs, ...requests] = process.argv.slice(2)
const texts = requests.length > 0 ? requests : ['GET /work HTTP/1.1\r\nHost: here\r\n\r\n']
let turn = 0
const nextRequest = () => texts[turn++ % texts.length] ?? ''
const outcomes = noOutcomes()
await Promise.all(
  Array.from({ length: Number(clients) }, () =>
    keepAliveClient({ port: Number(port), nextRequest, thinkMs: Number(thinkMs), outcomes }),
  ),
)
console.log(JSON.stringify({ ...outcomes, statuses: Object.fromEntries(outcomes.statuses) }))
