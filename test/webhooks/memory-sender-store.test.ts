import { senderStoreContract } from './sender-store.contract.ts'
import { MemorySenderStore } from './support/memory-sender-store.ts'

senderStoreContract('in memory', async () => {
  const store = new MemorySenderStore()
  const delivery = (id: string) => {
    const found = store.deliveries.get(id)
    if (found === undefined) throw new Error(`No delivery ${id}`)
    return found
  }
  const endpoint = (id: string) => {
    const found = store.endpoints.get(id)
    if (found === undefined) throw new Error(`No endpoint ${id}`)
    return found
  }
  return {
    store,
    epoch: store.epoch,
    addEndpoint: async (one) => void store.addEndpoint(one),
    addDelivery: async (deliveryId, { id, agencyId }, at) => {
      const added = store.addDelivery(id, at, { deliveryId, agencyId })
      store.deliveries.set(deliveryId, added)
    },
    delivery: async (id) => {
      const { status, attempts, tries, nextAttemptAt, finishedAt, claimedBy, log } = delivery(id)
      return { status, attempts, tries, nextAttemptAt, finishedAt, claimedBy, log }
    },
    endpoint: async (id) => endpoint(id),
    setEndpoint: async (id, change) => void Object.assign(endpoint(id), change),
    setDelivery: async (id, change) => void Object.assign(delivery(id), change),
  }
})
