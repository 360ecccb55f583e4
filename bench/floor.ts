/**
 * The floors: what Bun's server does when there is nothing to do. Every request is answered with one constant body and
 * constant headers, those of the answer it is compared with, which are received before each scenario. With `FLOOR_READS_BODY` set,
 * the request's JSON body is first read and checked by the service's own strict reader, and thrown away.
 */
import { useJson } from '../src/http/read-request.ts'
import { answerQuestions } from './support/json-child.ts'

let body = ''
let init: ResponseInit = {}

const readsBody = process.env['FLOOR_READS_BODY'] !== undefined
const server = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  development: false,
  fetch: readsBody ? (request) => useJson(request, () => new Response(body, init)) : () => new Response(body, init),
})
console.log(JSON.stringify({ url: `http://127.0.0.1:${server.port}` }))

await answerQuestions(async (constant: { status: number; headers: [string, string][]; body: string }) => {
  body = constant.body
  const headers = new Headers(constant.headers.filter(([name]) => !['content-length', 'date'].includes(name)))
  init = { status: constant.status, headers }
  return {}
})
await server.stop(true)
