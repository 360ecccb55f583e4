/** The changes of an agency as server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html). */
import type { ChangeStream } from '../../changes/change-feed.ts'
import type { ChangePage } from '../../changes/change-page.ts'

export const EVENT_STREAM = {
  mediaType: 'text/event-stream',
  description: 'Server-sent events: `id` is the cursor, `event` the kind, `data` the change as JSON.',
} as const

/** A client that takes JSON too gets JSON. */
export function isStreamAccepted(request: Request): boolean {
  const accepted = request.headers.get('accept')
  if (accepted === null || !accepted.includes(EVENT_STREAM.mediaType)) return false
  return !accepted.includes('application/json')
}

/**
 * The body of a stream. It is written only as fast as the client reads; Bun closes the connection of one that has read nothing for
 * as long as any connection may be idle.
 * @param onFailure called once if reading fails. The body ends; the client connects again, with the id of the last event
 */
export function eventStream(stream: ChangeStream, onFailure: (error: unknown) => void): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  let page: ChangePage | null = stream.first
  let isCancelled = false
  return new ReadableStream({
    start: (controller) => controller.enqueue(encoder.encode(eventsText(stream.first))),
    pull: async (controller) => {
      try {
        page = await stream.next()
      } catch (error) {
        page = null
        onFailure(error)
      }
      if (isCancelled) return
      if (page === null) {
        stream.close()
        controller.close()
      } else controller.enqueue(encoder.encode(eventsText(page)))
    },
    cancel: () => {
      isCancelled = true
      stream.close()
    },
  })
}

/**
 * An event for each change. A page without changes is a comment, and an id without data: no event happens, but the client has the id
 * when it connects again.
 */
function eventsText({ changes, cursor }: ChangePage): string {
  if (changes.length === 0) return `:\nid: ${cursor}\n\n`
  return changes.map(({ cursor, event, json }) => `id: ${cursor}\nevent: ${event}\ndata: ${json}\n\n`).join('')
}
