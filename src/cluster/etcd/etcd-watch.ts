/** As the gateway writes them. Members that are zero are left out. */
export interface GatewayKeyValue {
  readonly key: string
  readonly value?: string
  readonly lease?: string
  readonly mod_revision: string
}

interface GatewayEvent {
  /** Left out: PUT. */
  readonly type?: 'DELETE'
  readonly kv: GatewayKeyValue
}

interface WatchMessage {
  readonly result?: {
    readonly created?: boolean
    readonly canceled?: boolean
    readonly events?: readonly GatewayEvent[]
  }
  readonly error?: unknown
}

/**
 * Reads a watch: one JSON object per line, until it ends.
 * @param options.ask opens it; the signal is that of its beginning: a member without a leader accepts a watch and says nothing
 * @param options.beginMs by when the member must have confirmed the watch
 * @returns false when it could not be opened, or was cancelled by etcd
 */
export async function watchGateway(options: {
  ask: (beginning: AbortSignal) => Promise<Response>
  beginMs: number
  onEvents: (events: readonly GatewayEvent[]) => void
}): Promise<boolean> {
  const beginning = new AbortController()
  const late = setTimeout(() => beginning.abort(), options.beginMs)
  try {
    const response = await options.ask(beginning.signal)
    if (!response.ok || response.body === null) return false
    for await (const line of linesOf(response.body)) {
      const { result } = JSON.parse(line) as WatchMessage
      if (result === undefined || result.canceled === true) return false
      if (result.created === true) clearTimeout(late)
      if (result.events !== undefined) options.onEvents(result.events)
    }
    return true
  } catch {
    // Whatever ended it: the caller reads everything again, and watches from there.
    return false
  } finally {
    clearTimeout(late)
    beginning.abort()
  }
}

async function* linesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of body) {
    rest += decoder.decode(chunk, { stream: true })
    const lines = rest.split('\n')
    rest = lines.pop() ?? ''
    yield* lines.filter((line) => line !== '')
  }
}
