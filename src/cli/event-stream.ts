/** Server-sent events, as far as the service uses them (https://html.spec.whatwg.org/multipage/server-sent-events.html). */
export interface StreamEvent {
  /** What to send as `Last-Event-ID` after it. */
  readonly id: string
  /** Null when there is only a new id. */
  readonly data: string | null
}

/** The events of a body, until it ends. An event that was cut off is left out. */
export async function* eventsIn(body: ReadableStream<Uint8Array>): AsyncGenerator<StreamEvent> {
  let id = ''
  let text = ''
  const decoder = new TextDecoder()
  for await (const part of body) {
    const blocks = (text + decoder.decode(part, { stream: true })).split('\n\n')
    text = blocks.pop() ?? ''
    for (const block of blocks) {
      const fields = new Map(block.split('\n').map(fieldIn))
      id = fields.get('id') ?? id
      yield { id, data: fields.get('data') ?? null }
    }
  }
}

/** A comment is a field without a name. */
function fieldIn(line: string): [name: string, value: string] {
  const colon = line.indexOf(':')
  return [line.slice(0, colon), line.slice(colon + 1).replace(/^ /, '')]
}
