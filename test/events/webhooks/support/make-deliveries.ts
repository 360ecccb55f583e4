import { PostgresSenderStore } from '../../../../src/postgres/stores/postgres-sender-store.ts'

/**
 * Makes the deliveries of all that has happened, as the sender does, and sends none.
 * @param epoch of the writer
 */
export async function makeDeliveries(url: string, epoch: number): Promise<void> {
  const store = new PostgresSenderStore(url)
  const options = { term: await store.takeOver(epoch), agencyIds: 'all', now: Date.now(), room: 1_000 } as const
  while ((await store.makeDeliveries(options)).mayHaveMore);
  await store.close()
}
