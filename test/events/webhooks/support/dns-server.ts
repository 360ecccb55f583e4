import { createSocket } from 'node:dgram'

/** The addresses of a name; `silent`: the server never answers. Evaluated for every query. */
export type Zone = (name: string, family: 'A' | 'AAAA') => readonly string[] | 'silent'

/** A DNS server on loopback. Names without addresses get an empty answer. Answers must not be cached (TTL 0). */
export interface DnsServer {
  /** For a resolver's `servers`. */
  readonly address: string
  readonly questions: string[]
  stop(): Promise<void>
}

const TYPES: Record<number, 'A' | 'AAAA'> = { 1: 'A', 28: 'AAAA' }

export async function startDnsServer(zone: Zone): Promise<DnsServer> {
  const socket = createSocket('udp4')
  const questions: string[] = []
  socket.on('message', (query, from) => {
    const { name, end } = nameAt(query, 12)
    const family = TYPES[query.readUInt16BE(end)]
    questions.push(`${family} ${name}`)
    const found = family === undefined ? [] : zone(name.toLowerCase(), family)
    if (found === 'silent') return
    const question = query.subarray(12, end + 4)
    const header = Buffer.alloc(12)
    query.copy(header, 0, 0, 2)
    header.writeUInt16BE(0x8580, 2)
    header.writeUInt16BE(1, 4)
    header.writeUInt16BE(found.length, 6)
    socket.send(Buffer.concat([header, question, ...found.map(record)]), from.port, from.address)
  })
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve))
  return {
    address: `127.0.0.1:${socket.address().port}`,
    questions,
    stop: () => new Promise((resolve) => socket.close(() => resolve())),
  }
}

function nameAt(message: Buffer, start: number): { name: string; end: number } {
  const labels: string[] = []
  let at = start
  for (let length = message[at] ?? 0; length > 0; length = message[at] ?? 0) {
    labels.push(message.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  return { name: labels.join('.'), end: at + 1 }
}

function record(address: string): Buffer {
  const data = address.includes(':') ? ipv6Bytes(address) : Buffer.from(address.split('.').map(Number))
  const head = Buffer.alloc(12)
  // A pointer to the name in the question, at offset 12.
  head.writeUInt16BE(0xc00c, 0)
  head.writeUInt16BE(data.length === 4 ? 1 : 28, 2)
  head.writeUInt16BE(1, 4)
  head.writeUInt32BE(0, 6)
  head.writeUInt16BE(data.length, 10)
  return Buffer.concat([head, data])
}

function ipv6Bytes(address: string): Buffer {
  const [before = '', after] = address.split('::')
  const groups = (text: string) => (text === '' ? [] : text.split(':'))
  const left = groups(before)
  const right = after === undefined ? [] : groups(after)
  const middle = after === undefined ? [] : new Array(8 - left.length - right.length).fill('0')
  const bytes = Buffer.alloc(16)
  for (const [i, group] of [...left, ...middle, ...right].entries())
    bytes.writeUInt16BE(Number.parseInt(group, 16), 2 * i)
  return bytes
}
