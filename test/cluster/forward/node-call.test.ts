import { expect, test } from 'bun:test'
import { HOP_REFUSED_HEADER } from '../../../src/cluster/forward/hop.ts'
import { callNode } from '../../../src/cluster/forward/node-call.ts'
import { NOT_OWNER_STATUS } from '../../../src/http/problem-of.ts'

const NODE = { id: 'b', url: 'http://b' }
const CALL = { method: 'GET', url: 'http://a/partner/v1/units', headers: new Headers(), body: null }

for (const [what, kind, init] of [
  ['says that it is not the owner', 'not_owner', { status: NOT_OWNER_STATUS }],
  ['refuses the hop', 'refused', { status: 400, headers: { [HOP_REFUSED_HEADER]: 'proof' } }],
] as const)
  test(`when a node ${what}, and its connection is lost within the answer, no rejection is left that would end the process`, async () => {
    const unhandled: unknown[] = []
    const note = (error: unknown) => unhandled.push(error)
    process.on('unhandledRejection', note)
    try {
      // It is lost before the answer is looked at.
      const lost = new Response(new ReadableStream({ start: (body) => body.error(new Error('lost')) }), init)
      const { signal } = new AbortController()
      expect((await callNode(NODE, { ...CALL, signal }, async () => lost)).kind).toBe(kind)
      await Bun.sleep(5)
    } finally {
      process.off('unhandledRejection', note)
    }
    expect(unhandled).toEqual([])
  })
