/** Reads server-sent events as a browser does (https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream). */
interface StreamEvent {
  readonly id: string
  readonly event: string
  readonly data: string
}

export interface OpenStream {
  readonly response: Response
  /** So far. */
  readonly events: StreamEvent[]
  readonly comments: string[]
  /** As `Last-Event-ID` would have it. */
  lastEventId(): string
  /** Resolves when the service has ended the stream, or its connection was lost or closed. */
  readonly ended: Promise<'complete' | 'lost'>
  close(): void
}

export async function openStream(url: string, headers: Record<string, string>): Promise<OpenStream> {
  const leaving = new AbortController()
  const response = await fetch(url, { headers: { accept: 'text/event-stream', ...headers }, signal: leaving.signal })
  const events: StreamEvent[] = []
  const comments: string[] = []
  let lastId = ''
  const take = (block: string) => {
    const fields: Record<string, string> = {}
    for (const line of block.split('\n')) {
      const colon = line.indexOf(':')
      const [name, value] = [line.slice(0, colon), line.slice(colon + 1).replace(/^ /, '')]
      if (name === '') comments.push(value)
      else fields[name] = value
    }
    lastId = fields['id'] ?? lastId
    if (fields['data'] !== undefined)
      events.push({ id: lastId, event: fields['event'] ?? 'message', data: fields['data'] })
  }
  const ended = (async () => {
    let text = ''
    for await (const part of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += part
      const blocks = text.split('\n\n')
      text = blocks.pop() ?? ''
      for (const block of blocks) take(block)
    }
    return 'complete' as const
  })().catch(() => 'lost' as const)
  return { response, events, comments, lastEventId: () => lastId, ended, close: () => leaving.abort() }
}
