/**
 * A connection to one server for postgres.js, encrypted if that is asked for. postgres.js would continue in plain text with a server that
 * refuses encryption (`prefer`), cannot be given a certificate authority by URL, has no deadline for a handshake that hangs, and connects
 * again at once, without end, while a server closes each connection before the login is over, as a load balancer without servers does.
 */
import net from 'node:net'
import tls from 'node:tls'
import type { Host, Tls } from './database-url.ts'

/** The server does not encrypt, or is not the one that its certificate was made for. Retrying does not help. */
class TlsError extends Error {
  override readonly name = 'TlsError'
  readonly code = 'CONNECTION_NOT_ENCRYPTED'
}

/** ReadyForQuery of PostgreSQL's protocol, which ends the login, without its last byte. */
const READY = Buffer.from([0x5a, 0, 0, 0, 5])
/** SSLRequest of PostgreSQL's protocol. */
const ENCRYPT = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47])
const YES = 'S'.charCodeAt(0)

/** Not encrypted, and still connecting: postgres.js limits how long, and reports what becomes of it. */
export function startSocket(host: Host): net.Socket {
  const socket = net.connect({ host: host.name, port: host.port, noDelay: true })
  return named(failingUntilReady(failingOnceHeard(socket)), host)
}

/** A system without a route or a free descriptor refuses at once, before postgres.js listens: it is told as soon as it does. */
function failingOnceHeard(socket: net.Socket): net.Socket {
  return socket.once('error', (error) => {
    if (socket.listenerCount('error') === 0) queueMicrotask(() => socket.emit('error', error))
  })
}

/** postgres.js names both in its own errors. */
function named(socket: net.Socket, { name, port }: Host): net.Socket {
  return Object.assign(socket, { host: name, port })
}

/**
 * @param timeoutMs for all of it
 * @throws TlsError; an error with the socket's code, or with CONNECT_TIMEOUT or CONNECTION_NOT_OPENED
 */
export async function openSocket(
  host: Host,
  { encryption, timeoutMs }: { encryption: Tls | null; timeoutMs: number },
): Promise<net.Socket> {
  const plain = net.connect({ host: host.name, port: host.port, noDelay: true })
  const timer = setTimeout(() => plain.destroy(timedOut(host)), timeoutMs)
  try {
    await once(plain, 'connect')
    return named(failingUntilReady(encryption === null ? plain : await encrypted(plain, host, encryption)), host)
  } catch (error) {
    plain.destroy()
    throw error
  } finally {
    clearTimeout(timer)
  }
}

async function encrypted(plain: net.Socket, host: Host, { mode, ca }: Tls): Promise<net.Socket> {
  const answer = once<Buffer>(plain, 'data')
  plain.write(ENCRYPT)
  const reply = await answer
  // More than one byte would be plain text smuggled in before the handshake (CVE-2021-23222).
  if (reply.length !== 1 || reply[0] !== YES)
    throw new TlsError('the server does not encrypt connections, but sslmode asks for it')
  const socket = tls.connect({
    socket: plain,
    host: host.name,
    ...(net.isIP(host.name) === 0 ? { servername: host.name } : {}),
    rejectUnauthorized: mode !== 'require',
    ...(ca === null ? {} : { ca }),
    ...(mode === 'verify-full' ? {} : { checkServerIdentity: () => undefined }),
  })
  try {
    await once(socket, 'secureConnect')
  } catch (cause) {
    socket.destroy()
    if (!isAboutCertificate(cause)) throw cause
    throw new TlsError(`the certificate of the server is not accepted: ${(cause as Error).message}`, { cause })
  }
  return socket
}

/** Until the login is over, the end of the connection is an error. */
function failingUntilReady(socket: net.Socket): net.Socket {
  const fail = () => void socket.destroy(closed())
  const look = (piece: Buffer) => {
    if (piece.subarray(-6, -1).equals(READY)) socket.off('end', fail).off('data', look)
  }
  return socket.once('end', fail).on('data', look)
}

/** Errors of the socket itself have a system call. */
function isAboutCertificate(error: unknown): boolean {
  return error instanceof Error && !('syscall' in error) && !('code' in error && error.code === 'CONNECT_TIMEOUT')
}

/** @throws the socket's error, or CONNECTION_NOT_OPENED if it closes before the event */
function once<T = unknown>(socket: net.Socket, event: 'connect' | 'data' | 'secureConnect'): Promise<T> {
  return new Promise((resolve, reject) => {
    const settle = (done: () => void) => {
      socket.off(event, onEvent).off('error', onError).off('close', onClose)
      done()
    }
    const onEvent = (value: T) => settle(() => resolve(value))
    const onError = (error: Error) => settle(() => reject(error))
    const onClose = () => onError(closed())
    socket.once(event, onEvent).once('error', onError).once('close', onClose)
  })
}

function closed(): Error {
  return Object.assign(new Error('the server closed the connection before the login was over'), {
    code: 'CONNECTION_NOT_OPENED',
    syscall: 'read',
  })
}

function timedOut({ name, port }: Host): Error {
  return Object.assign(new Error(`Cannot connect to ${name}:${port} in time`), { code: 'CONNECT_TIMEOUT' })
}
