/** What the tests of entries send, and what is answered. */
import { type EntryCluster, keyOf } from '../../../support/entry-nodes.ts'

export const SHARD = 7
export const AUTHORIZATION = { authorization: `Bearer ${keyOf(SHARD)}` }
export const PATH = '/partner/v1/units?status=active&q=%20a'

export function twoOf(cluster: EntryCluster, owner: 'a' | 'b' | null) {
  const nodes = { a: cluster.node('a'), b: cluster.node('b') }
  cluster.own(SHARD, owner)
  return nodes
}

export const post = (body = '{"n":1}', headers = {}): RequestInit => ({
  method: 'POST',
  headers: { ...AUTHORIZATION, 'content-type': 'application/json', ...headers },
  body,
})

export interface Told {
  by: string
  method: string
  url: string
  headers: Record<string, string>
  body: string
}
export const reported = (response: Response) => response.json() as Promise<Told>

/** Sends a part whenever it is asked to; tells when its client has gone. */
export function source() {
  let controller: ReadableStreamDefaultController<string> | null = null
  const gone = Promise.withResolvers<void>()
  return {
    gone: gone.promise,
    send: (part: string) => controller?.enqueue(part),
    end: () => controller?.close(),
    response: () =>
      new Response(
        new ReadableStream({
          start: (given) => {
            controller = given
            given.enqueue('first ')
          },
          cancel: () => gone.resolve(),
        }),
        { headers: { 'content-type': 'text/event-stream' } },
      ),
  }
}

export async function readText(reader: { read(): Promise<{ value?: Uint8Array | undefined }> }): Promise<string> {
  return new TextDecoder().decode((await reader.read()).value)
}
