/**
 * A process of its own that uses the share of an agency: sends the requests of its argument in turn, as fast as they are answered, and
 * waits when it is told to. Prints what it was answered when its input ends.
 */
export interface Attack {
  readonly base: string
  readonly connections: number
  readonly requests: readonly {
    readonly method: string
    readonly path: string
    readonly token?: string
    readonly json?: unknown
  }[]
}

const WAIT_MS_MAX = 1_000
const { base, connections, requests }: Attack = JSON.parse(await Bun.file(process.argv[2] ?? '').text())
const statuses: Record<string, number> = {}
let isOver = false
let next = 0

async function send(): Promise<void> {
  while (!isOver) {
    const { method, path, token, json } = requests[next++ % requests.length] ?? { method: 'GET', path: '/' }
    const headers = {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      'content-type': 'application/json',
    }
    const answer = await fetch(base + path, {
      method,
      headers,
      ...(json === undefined ? {} : { body: JSON.stringify(json) }),
    })
    await answer.arrayBuffer()
    statuses[answer.status] = (statuses[answer.status] ?? 0) + 1
    const waitMs = Number(answer.headers.get('retry-after') ?? 0) * 1_000
    // Other keys and tokens of the list may have room before that.
    if (waitMs > 0) await Bun.sleep(Math.min(waitMs, WAIT_MS_MAX) / 10)
  }
}

const sending = Array.from({ length: connections }, send)
await Bun.stdin.text()
isOver = true
await Promise.all(sending)
console.log(JSON.stringify(statuses))
