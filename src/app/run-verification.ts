/** The verification process (V1). The service starts it; verification-process.ts defines their messages. */

import { isDatabaseFailure } from '../lib/deadline.ts'
import { connect } from '../postgres/client/connect.ts'
import { PostgresChainKeys } from '../postgres/stores/postgres-chain-keys.ts'
import { PostgresVerifyStore } from '../postgres/stores/postgres-verify-store.ts'
import type { FromVerifier, ToVerifier, VerifierSettings } from '../verify/verification-process.ts'
import { type LiveUnits, verify } from '../verify/verify.ts'
import type { LiveUnit } from '../verify/verify-unit.ts'

/**
 * Receives the database URL and SECRET_KEY from the service, sends it the result of the verification, and exits when the service is
 * gone.
 */
export function runVerification(): void {
  if (process.send === undefined) {
    console.error('Cannot verify: only the service starts this process. Run nightledger verify instead.')
    process.exit(1)
  }
  process.on('disconnect', () => process.exit(0))
  let answer: (live: ReadonlyMap<string, LiveUnit>) => void = () => {}
  const live: LiveUnits = (unitIds) => {
    const { promise, resolve } = Promise.withResolvers<ReadonlyMap<string, LiveUnit>>()
    answer = resolve
    send({ kind: 'ask_live', unitIds })
    return promise
  }
  process.on('message', (message: ToVerifier) => {
    if (message.kind === 'live') answer(new Map(message.units))
    else void run(message.settings, live)
  })
  send({ kind: 'up' })
}

/** The service ends this process once it has the result. */
async function run({ databaseUrl, secretKeyHex }: VerifierSettings, live: LiveUnits): Promise<void> {
  try {
    const sql = connect(databaseUrl, { purpose: 'verification' })
    const chainKeys = await new PostgresChainKeys(sql, Uint8Array.fromHex(secretKeyHex)).read()
    send({ kind: 'done', verification: await verify(new PostgresVerifyStore(sql), { chainKeys, live }) })
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    if (isDatabaseFailure(error)) send({ kind: 'failed', message })
    else {
      console.error('Cannot verify because of a bug:', error)
      send({ kind: 'broken', message })
    }
  }
}

function send(message: FromVerifier): void {
  process.send?.(message)
}
