import { expect, spyOn, test } from 'bun:test'
import { Passkeys } from '../../src/accounts/passkeys.ts'
import type { Person } from '../../src/core/catalogue/people.ts'
import { makePasskey } from '../support/authenticator.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { AGENCY, sampleId } from '../support/samples.ts'
import { TEST_PAGE_URL } from '../support/service-process.ts'

const ANA: Person = {
  id: sampleId('per', 'ana'),
  agencyId: AGENCY.id,
  name: 'Ana',
  email: null,
  role: 'desk',
  createdAt: 0,
  removedAt: null,
  revision: 0,
}
const passkeys = new Passkeys({ secretKey: new Uint8Array(32), publicUrl: () => TEST_PAGE_URL, clock: new FakeClock() })
const options = () => passkeys.creationOptions({ kind: 'person', agency: AGENCY, member: ANA }, [])

test('of a new passkey, the attestation is not looked at: certificates of the caller would say where to fetch from', async () => {
  const fetching = spyOn(globalThis, 'fetch')
  // "fmt": "android-key", "attStmt": {"x5c": [a byte]}
  const attestation = '63666d746b616e64726f69642d6b65796761747453746d74a163783563814100'
  const { passkey, device } = makePasskey(options(), { attestation })
  const made = await passkeys.verifyNew(ANA, passkey)
  expect(made?.credentialId).toBe(device.credentialId.toString('base64url'))
  expect(fetching).not.toHaveBeenCalled()
  fetching.mockRestore()
})

test('a new passkey has the id that its authenticator has given it', async () => {
  const { passkey } = makePasskey(options(), { id: 'another' })
  expect(await passkeys.verifyNew(ANA, passkey)).toBeNull()
})

test('of the ways to reach an authenticator, those that have a name’s form are kept: browsers are told them again', async () => {
  const { passkey } = makePasskey(options())
  const response = { ...passkey.response, transports: ['smart-card', '"usb"', 'new line\n'] }
  expect((await passkeys.verifyNew(ANA, { ...passkey, response }))?.transports).toEqual(['smart-card'])
})
