import { expect, test } from 'bun:test'
import { UnitState } from '../../../src/core/domain/unit-state.ts'
import { MailboxFullError, UnitActor } from '../../../src/core/units/unit-actor.ts'
import { settle } from '../../support/fake-clock.ts'
import { sampleId } from '../../support/samples.ts'

function actorWith(mailboxMax: number): UnitActor {
  return new UnitActor({
    agencyId: sampleId('agc', 'a'),
    state: UnitState.empty(sampleId('unt', 'a')),
    mailboxMax,
    tailLength: 0,
    nowMs: 0,
  })
}

test('U2: turns run one after the other, in order of arrival', async () => {
  const actor = actorWith(10)
  const seen: string[] = []
  const turn = (name: string) =>
    actor.turn(async () => {
      seen.push(`${name} begins`)
      await settle()
      seen.push(`${name} ends`)
    })
  await Promise.all(['a', 'b', 'c'].map(turn))
  expect(seen).toEqual(['a begins', 'a ends', 'b begins', 'b ends', 'c begins', 'c ends'])
})

test('U2: a full mailbox refuses the turn, naming the unit and the number of waiting turns', async () => {
  const actor = actorWith(1)
  let release = () => {}
  const running = actor.turn(() => new Promise<void>((resolve) => (release = resolve)))
  const waiting = actor.turn(async () => {})
  const refused = await actor.turn(async () => {}).catch((error: unknown) => error)
  expect(refused).toBeInstanceOf(MailboxFullError)
  expect((refused as Error).message).toBe(`Cannot take a command: 1 already wait for unit ${sampleId('unt', 'a')}`)
  release()
  await Promise.all([running, waiting])
})

test('a failing turn does not affect other turns', async () => {
  const actor = actorWith(10)
  const failed = await actor
    .turn(async () => {
      throw new Error('database away')
    })
    .catch((error: Error) => error.message)
  expect(failed).toBe('database away')
  expect(await actor.turn(async () => 'next')).toBe('next')
})

test('a closed actor refuses the turns that wait and all later ones, and the one that runs ends as it would', async () => {
  const actor = actorWith(10)
  const messageOf = (turn: Promise<unknown>) => turn.catch((error: Error) => error.message)
  const held = Promise.withResolvers<string>()
  const running = actor.turn(() => held.promise)
  const waiting = messageOf(actor.turn(async () => 'ran'))
  actor.close(() => new Error('of another process now'))
  expect(await waiting).toBe('of another process now')
  held.resolve('ran')
  expect(await running).toBe('ran')
  expect(await messageOf(actor.turn(async () => 'ran'))).toBe('of another process now')
})

test('an actor is idle only when no turn runs and none waits', async () => {
  const actor = actorWith(10)
  let release = () => {}
  const running = actor.turn(() => new Promise<void>((resolve) => (release = resolve)))
  expect(actor.isIdle).toBe(false)
  release()
  await running
  await settle()
  expect(actor.isIdle).toBe(true)
})
