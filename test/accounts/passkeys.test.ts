import { expect, test } from 'bun:test'
import { Passkeys, type PersonMember } from '../../src/accounts/passkeys.ts'
import { uuidOf } from '../../src/lib/ids.ts'
import { answerWith, makePasskey } from '../support/authenticator.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { AGENCY, sampleId } from '../support/samples.ts'
import { TEST_PAGE_URL } from '../support/service-process.ts'

const ana: PersonMember = {
  kind: 'person',
  agency: AGENCY,
  member: {
    id: sampleId('per', 'ana'),
    agencyId: AGENCY.id,
    name: 'Ana',
    email: null,
    role: 'desk',
    createdAt: 0,
    removedAt: null,
    revision: 0,
  },
}

test('only the authenticators of a person can claim to be the person: their ids are not enough', () => {
  const passkeys = new Passkeys({
    secretKey: new Uint8Array(32).fill(7),
    publicUrl: () => TEST_PAGE_URL,
    clock: new FakeClock(),
  })
  const { device } = makePasskey(passkeys.creationOptions(ana, []))
  const claimOf = (userHandle?: string) =>
    passkeys.claimOf(answerWith(device, passkeys.requestOptions(), userHandle === undefined ? {} : { userHandle }))
  expect(claimOf()).toMatchObject({ agencyId: AGENCY.id, personId: ana.member.id })
  // The same bytes, written in another way.
  expect(claimOf(`!${device.userHandle}=`)).toMatchObject({ personId: ana.member.id })
  const ids = Buffer.from(uuidOf(AGENCY.id) + uuidOf(ana.member.id), 'hex')
  for (const forged of [ids, Buffer.concat([ids, Buffer.alloc(16)]), Buffer.alloc(0), Buffer.alloc(64)])
    expect(claimOf(forged.toString('base64url'))).toBeNull()
})
