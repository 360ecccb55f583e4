/**
 * The floor: what Bun's server does when there is nothing to do. It answers every request with one constant body and
 * constant headers, those of the answer it is compared with, which it receives before each scenario.
 */
import { answerQuestions } from './support/json-child.ts'

let body = ''
let init: ResponseInit = {}

const server = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  development: false,
  fetch: () => new Response(body, init),
})
console.log(JSON.stringify({ url: `http://127.0.0.1:${server.port}` }))

await answerQuestions(async (constant: { status: number; headers: [string, string][]; body: string }) => {
  body = constant.body
  const headers = new Headers(constant.headers.filter(([name]) => !['content-length', 'date'].includes(name)))
  init = { status: constant.status, headers }
  return {}
})
await server.stop(true)
