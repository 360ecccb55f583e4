import { afterAll, describe, expect, test } from 'bun:test'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { newSecret, signedHeaders } from '../../../src/events/webhooks/secret-box.ts'
import { freePort } from '../../support/free-port.ts'

/* Runs the receivers in docs/webhooks/receivers as the guide says. Skips those whose language is not installed. */

const FOLDER = 'docs/webhooks/receivers'
const GO_PROGRAM = join(mkdtempSync(join(tmpdir(), 'nightledger-receiver-')), 'receiver')
afterAll(() => rmSync(dirname(GO_PROGRAM), { recursive: true, force: true }))

const RECEIVERS: { name: string; program: string; command: (program: string, port: number) => string[] }[] = [
  { name: 'Bun', program: process.execPath, command: (bun) => [bun, `${FOLDER}/receiver.js`] },
  { name: 'Node', program: 'node', command: (node) => [node, `${FOLDER}/receiver.js`] },
  { name: 'Python', program: 'python3', command: (python) => [python, `${FOLDER}/receiver.py`] },
  // Builds the program as `go run` does, which would leave the program running when it is killed itself.
  {
    name: 'Go',
    program: 'go',
    command: (go) => ['sh', '-c', `${go} build -o "$0" ${FOLDER}/receiver.go && exec "$0"`, GO_PROGRAM],
  },
  { name: 'PHP', program: 'php', command: (php, port) => [php, '-S', `127.0.0.1:${port}`, `${FOLDER}/receiver.php`] },
]

const SECRET = newSecret()
const BODY = '{"id":"evt_1","event":"booking.created","data":{"id":"bkg_1","unitName":"Zoë’s"}}'

for (const { name, program, command } of RECEIVERS) {
  describe.skipIf(Bun.which(program) === null)(`the receiver for ${name}`, () => {
    test('accepts genuine events, also during a rotation, refuses everything else, and outlives a request that is broken off', async () => {
      const port = freePort()
      const child = Bun.spawn(command(program, port), {
        env: {
          PATH: process.env['PATH'] ?? '',
          HOME: process.env['HOME'] ?? '',
          WEBHOOK_SECRET: SECRET,
          PORT: String(port),
        },
        stdout: 'ignore',
        stderr: 'ignore',
      })
      try {
        const send = async (change: { at?: number; secrets?: string[]; body?: string; signature?: string | null }) => {
          const signed = signedHeaders({
            eventId: 'evt_1',
            body: BODY,
            at: change.at ?? Date.now(),
            secrets: change.secrets ?? [SECRET],
          })
          const headers = new Headers(signed)
          if (change.signature === null) headers.delete('x-service-signature')
          else if (change.signature !== undefined) headers.set('x-service-signature', change.signature)
          const response = await fetch(`http://127.0.0.1:${port}/in`, {
            method: 'POST',
            headers,
            body: change.body ?? BODY,
          })
          return response.status
        }
        await until(() => send({}))
        expect(await send({})).toBe(204)
        expect(await send({ secrets: [newSecret(), SECRET] })).toBe(204)
        expect(await send({ secrets: [SECRET, newSecret()] })).toBe(204)
        expect(await send({ at: Date.now() - 290_000 })).toBe(204)
        expect(await send({ secrets: [newSecret()] })).toBe(401)
        expect(await send({ body: BODY.replace('bkg_1', 'bkg_2') })).toBe(401)
        expect(await send({ at: Date.now() - 310_000 })).toBe(401)
        expect(await send({ at: Date.now() + 310_000 })).toBe(401)
        for (const signature of [
          null,
          '',
          't=1',
          't=abc, v1=00',
          'v1=',
          `t=${Math.floor(Date.now() / 1_000)}, v1=zz`,
        ]) {
          expect(await send({ signature })).toBe(401)
        }
        await breakOff(port)
        expect(await send({})).toBe(204)
      } finally {
        child.kill('SIGKILL')
        await child.exited
      }
    }, 150_000)
  })
}

/** Sends a part of a body, and then ends the connection. */
async function breakOff(port: number): Promise<void> {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {})
  socket.resume()
  socket.end('POST /in HTTP/1.1\r\nHost: receiver\r\nContent-Length: 100\r\n\r\n{"id":')
  await once(socket, 'close')
}

async function until(isUp: () => Promise<unknown>): Promise<void> {
  const deadline = performance.now() + 120_000
  for (;;) {
    try {
      await isUp()
      return
    } catch (error) {
      if (performance.now() > deadline) throw error
      await Bun.sleep(20)
    }
  }
}
