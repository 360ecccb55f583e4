import type { PostOnce } from '../../src/events/webhooks/guarded-post.ts'
import { SecretBox } from '../../src/events/webhooks/secret-box.ts'
import { WebhookSender } from '../../src/events/webhooks/webhook-sender.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { PostgresSenderStore } from '../../src/postgres/stores/postgres-sender-store.ts'
import { TEST_SECRET_KEY } from './service-process.ts'
import type { TestService } from './test-service.ts'

/** The sender of a test service, in this process. Its receivers are `post`. */
interface RunningSender {
  readonly sender: WebhookSender
  /** What it could not do, and whose secret it could not read. */
  readonly failures: unknown[]
  stop(): Promise<void>
}

export async function startSender(
  { database, ledger }: Pick<TestService, 'database' | 'ledger'>,
  post: PostOnce,
): Promise<RunningSender> {
  const store = new PostgresSenderStore(database.url)
  const failures: unknown[] = []
  const sender = new WebhookSender({
    store,
    post,
    term: await store.takeOver(ledger.epoch),
    box: new SecretBox(Uint8Array.fromHex(TEST_SECRET_KEY)),
    clock: systemClock,
    dice: () => 0.99,
    watch: {
      onSwitchedOff: () => {},
      onFailure: ({ err }) => failures.push(err),
      onSecretUnreadable: (endpoint) => failures.push(endpoint),
      onEventUnreadable: (event) => failures.push(event),
      onReplaced: () => {},
    },
  })
  return {
    sender,
    failures,
    stop: async () => {
      await sender.stop(1_000)
      await store.close()
    },
  }
}
