import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { canEnter, firstClosed } from '../../../src/postgres/embedded/server-account.ts'

/** An account that owns nothing on this machine. */
const STRANGER = { uid: 3_999_999, gid: 3_999_999 }

let top: string
let inner: string
beforeEach(() => {
  top = mkdtempSync(join(tmpdir(), 'nightledger-account-'))
  inner = join(top, 'a', 'b')
  mkdirSync(inner, { recursive: true })
  for (const folder of [top, join(top, 'a'), inner]) chmodSync(folder, 0o711)
})
afterEach(() => {
  for (const folder of [top, join(top, 'a'), inner]) chmodSync(folder, 0o711)
  rmSync(top, { recursive: true, force: true })
})

describe('whether an account can enter a folder', () => {
  test('yes, when it may pass through everything above', () => {
    expect(firstClosed(inner, STRANGER)).toBeNull()
    expect(canEnter(inner, STRANGER)).toBe(true)
  })

  test('no, when any folder on the way is closed, and the topmost is named', () => {
    chmodSync(inner, 0o700)
    expect(firstClosed(inner, STRANGER)).toBe(inner)
    chmodSync(top, 0o710)
    expect(firstClosed(inner, STRANGER)).toBe(top)
    expect(canEnter(inner, STRANGER)).toBe(false)
  })

  test('the owner and the group go by their own bits', () => {
    chmodSync(top, 0o701)
    const [uid, gid] = [process.getuid?.() ?? 0, process.getgid?.() ?? 0]
    expect(canEnter(top, { uid, gid })).toBe(true)
    expect(canEnter(top, { uid: STRANGER.uid, gid })).toBe(false)
    expect(canEnter(top, STRANGER)).toBe(true)
  })

  test('we ourselves go where we can', () => {
    chmodSync(inner, 0o000)
    expect(canEnter(inner, null)).toBe(true)
  })
})
